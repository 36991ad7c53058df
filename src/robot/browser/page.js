// The functions that pieme runs on a page, in an isolated world: the page's scripts cannot see or change them. An
// element named like a property of a document or form hides that property, so every access goes through the prototypes.
(order) => {
  const getter = (type, name) => (it) => Object.getOwnPropertyDescriptor(type.prototype, name).get.call(it);
  const root = () => getter(Document, 'documentElement')(document);
  const at = (place) => Document.prototype.getElementsByTagName.call(document, place.tag)[place.nth];
  const missing = (place) => ({ missing: place.tag });
  const say = (element, ...kinds) =>
    kinds.forEach((kind) => EventTarget.prototype.dispatchEvent.call(element, new Event(kind, { bubbles: true })));
  // Everything opens in the one window.
  const stay = (element) => Element.prototype.setAttribute.call(element, 'target', '_self');

  const steps = {
    // The current DOM without noscript and template elements.
    read() {
      const url = window.location.href;
      const type = getter(Document, 'contentType')(document);
      if (!type.includes('html')) return { url, type };
      // No element is shorter than <b>, so that a page of a million elements is not copied to find it too large.
      const count = getter(HTMLCollection, 'length')(Document.prototype.getElementsByTagName.call(document, '*'));
      if (count * 3 > order.most) return { url, type, large: true };
      const inert = getter(Document, 'implementation')(document).createHTMLDocument('');
      const copy = Document.prototype.importNode.call(inert, root(), true);
      for (const element of Element.prototype.querySelectorAll.call(copy, 'noscript, template')) {
        Element.prototype.remove.call(element);
      }
      const html = getter(Element, 'outerHTML')(copy);
      if (html.length > order.most) return { url, type, large: true };
      const doctype = getter(Document, 'compatMode')(document) === 'CSS1Compat' ? '<!DOCTYPE html>' : '';
      return { url, type, html: doctype + html };
    },

    fill() {
      const { form, fields, button } = order.filling;
      if (order.origin && window.location.origin !== order.origin) return { elsewhere: window.location.origin };
      const element = at(form);
      if (!element) return missing(form);
      for (const { place, value, on, chosen } of fields) {
        const field = at(place);
        if (!field) return missing(place);
        HTMLElement.prototype.focus.call(field);
        if (on !== undefined) {
          if (field.checked !== on) HTMLElement.prototype.click.call(field);
        } else if (chosen !== undefined) {
          for (const option of field.options) option.selected = chosen.includes(option.value);
          say(field, 'input', 'change');
        } else {
          field.value = value;
          say(field, 'input', 'change');
        }
      }
      stay(element);
      const pressed = button && at(button);
      if (button && !pressed) return missing(button);
      if (pressed) HTMLElement.prototype.click.call(pressed);
      else HTMLFormElement.prototype.requestSubmit.call(element);
      return {};
    },

    click() {
      const element = at(order.place);
      if (!element) return missing(order.place);
      if (Element.prototype.matches.call(element, 'a[target], form[target]')) stay(element);
      Element.prototype.scrollIntoView.call(element, { block: 'center' });
      if (element instanceof HTMLElement) HTMLElement.prototype.click.call(element);
      else {
        const click = new MouseEvent('click', { bubbles: true, cancelable: true });
        EventTarget.prototype.dispatchEvent.call(element, click);
      }
      return {};
    },

    // To the end of the page, and of every scrolling element in it.
    scroll() {
      for (const element of Element.prototype.querySelectorAll.call(root(), '*')) {
        const overflows = element.scrollHeight > element.clientHeight + 50;
        if (overflows && /auto|scroll/.test(getComputedStyle(element).overflowY)) {
          element.scrollTop = element.scrollHeight;
        }
      }
      window.scrollTo(0, root().scrollHeight);
      return {};
    },

    shows() {
      const { css, text } = order;
      const words = (it) => it.replace(/\s+/g, ' ').trim().toLowerCase();
      const said = () => words(getter(HTMLElement, 'innerText')(root()));
      const there = !css || Document.prototype.querySelector.call(document, css) !== null;
      return { shows: there && (!text || said().includes(words(text))) };
    },
  };
  return steps[order.do]();
}
