//! Finds the form that a script names: by name, id or CSS, or by its purpose.

use super::purpose::{FormPurpose, is_query};
use super::{Form, find_all};
use crate::page::{NodeId, Selector, Tree};

/// `wanted` is `"login"`, `"search"`, a form's name or id, or a CSS selector for the form or an element in it.
pub fn find(tree: &Tree, wanted: &str) -> Option<Form> {
    let forms = find_all(tree);
    let wanted = wanted.trim();
    let meant = match wanted {
        "login" => {
            best_with_purpose(&forms, FormPurpose::Login, |form| form.password().is_some() && form.username().is_some())
        }
        "search" => best_with_purpose(&forms, FormPurpose::Search, |form| form.visible().any(is_query)),
        _ => None,
    };
    let named = |form: &&Form| form.name.as_deref() == Some(wanted) || form.id.as_deref() == Some(wanted);
    meant.or_else(|| forms.iter().find(named)).cloned().or_else(|| {
        let at = Selector::parse(wanted).ok()?.first(tree, tree.root())?;
        forms.iter().rfind(|form| tree.contains(form.node, at) || tree.contains(at, form.node)).cloned()
    })
}

/// The form that an element belongs to; the page's first form if it is in none, since POST-backs send that one.
pub fn form_of_element(tree: &Tree, node: NodeId) -> Option<Form> {
    let mut forms = find_all(tree);
    let own = forms.iter().position(|form| form.has_button(node)).or_else(|| {
        let around = tree.ancestors(node).find(|&it| tree.tag(it) == "form")?;
        forms.iter().position(|form| form.node == around)
    });
    let own = own.unwrap_or(0);
    (own < forms.len()).then(|| forms.swap_remove(own))
}

/// The first form with this purpose that has all its fields, or else the first with this purpose.
fn best_with_purpose(forms: &[Form], purpose: FormPurpose, is_whole: fn(&Form) -> bool) -> Option<&Form> {
    let mut meant = forms.iter().filter(|form| form.purpose() == purpose);
    let first = meant.next()?;
    Some(if is_whole(first) { first } else { meant.find(|form| is_whole(form)).unwrap_or(first) })
}
