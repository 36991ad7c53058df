const list = document.getElementById('list');

// Appends the next products; returns whether there are more.
async function more() {
  const answer = await fetch('/js/data?from=' + list.children.length);
  const { products, more } = await answer.json();
  for (const { id, name, price, badge } of products) {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = '/product/' + id;
    link.textContent = name;
    const cost = document.createElement('span');
    cost.className = 'price';
    cost.textContent = price;
    item.append(link, ' ', cost);
    if (badge) {
      const mark = document.createElement('b');
      mark.className = 'badge';
      mark.textContent = badge;
      item.append(' ', mark);
    }
    list.append(item);
  }
  return more;
}
