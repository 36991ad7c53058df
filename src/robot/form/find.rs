//! Which form a script means: by name, id or CSS, or by what it is for.

use super::{Field, Form, Kind, all};
use crate::page::{Selector, Tree};

/// A log-in asks for a name and a password, at times for a code or a company too; who asks for more registers somebody.
const MAX_LOGIN_TEXTS: usize = 3;

/// The form that is wanted: `"login"`, `"search"`, a form's name or id, or a CSS selector for it or for something in it.
pub fn find(tree: &Tree, wanted: &str) -> Option<Form> {
    let forms = all(tree);
    let wanted = wanted.trim();
    let best = |score: fn(&Form) -> Option<i32>| {
        let scored = forms.iter().filter_map(|form| Some((score(form)?, form)));
        // The first of the best: max_by_key would take the last.
        scored.rev().max_by_key(|(score, _)| *score).map(|(_, form)| form.clone())
    };
    let meant = match wanted {
        "login" => best(login_score),
        "search" => best(search_score),
        _ => None,
    };
    let named = |form: &&Form| form.name.as_deref() == Some(wanted) || form.id.as_deref() == Some(wanted);
    meant.or_else(|| forms.iter().find(named).cloned()).or_else(|| {
        let at = Selector::parse(wanted).ok()?.first(tree, tree.root())?;
        forms.iter().rfind(|form| tree.contains(form.node, at) || tree.contains(at, form.node)).cloned()
    })
}

/// How much the form looks like a log-in; `None` when it cannot be one.
pub fn login_score(form: &Form) -> Option<i32> {
    let passwords = form.fields.iter().filter(|field| field.kind == Kind::Password).count();
    let texts = form.visible().filter(|field| field.is_text() || field.kind == Kind::Select).count();
    if passwords != 1 || texts > MAX_LOGIN_TEXTS {
        return None;
    }
    let words = words(form);
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let mut score = 10 - i32::try_from(texts).unwrap_or(10);
    if says(&[
        "login",
        "log-in",
        "log in",
        "signin",
        "sign-in",
        "sign in",
        "logon",
        "anmelden",
        "connexion",
        "entrar",
        "вход",
        "войти",
        "acceder",
    ]) {
        score += 5;
    }
    if says(&["register", "signup", "sign-up", "sign up", "registr", "join", "create"]) {
        score -= 6;
    }
    Some(score)
}

/// How much the form looks like a search; `None` when it does not.
pub fn search_score(form: &Form) -> Option<i32> {
    if form.fields.iter().any(|field| field.kind == Kind::Password) || form.visible().all(|field| !field.is_text()) {
        return None;
    }
    let mut score = 0;
    if form.hints.split_whitespace().any(|word| word == "search") {
        score += 4;
    }
    if form.visible().any(|field| field.kind == Kind::Search) {
        score += 3;
    }
    if form.visible().any(is_query) {
        score += 3;
    }
    const WORDS: &[&str] =
        &["search", "find", "such", "recherch", "buscar", "busca", "zoek", "cerca", "поиск", "найти", "szuk", "搜"];
    let words = words(form);
    if WORDS.iter().any(|word| words.contains(word)) {
        score += 2;
    }
    let texts = form.visible().filter(|field| field.is_text()).count();
    (score >= 2).then(|| score - i32::try_from(texts).unwrap_or(10).min(5))
}

/// Is this where the words searched for go?
pub fn is_query(field: &Field) -> bool {
    const NAMES: &[&str] = &[
        "q",
        "query",
        "s",
        "search",
        "keyword",
        "keywords",
        "k",
        "kw",
        "term",
        "terms",
        "text",
        "searchterm",
        "search_query",
        "wd",
    ];
    field.is_text() && (field.kind == Kind::Search || NAMES.contains(&field.name.to_lowercase().as_str()))
}

/// Is this where the user's name goes?
pub fn is_user(field: &Field) -> bool {
    const PARTS: &[&str] = &["user", "login", "email", "e-mail", "mail", "account", "name", "log", "id"];
    let name = field.name.to_lowercase();
    field.is_text() && (field.kind == Kind::Email || PARTS.iter().any(|part| name.contains(part)))
}

/// All that the form says about itself, in lower case.
fn words(form: &Form) -> String {
    let parts = [form.name.as_deref(), form.id.as_deref(), form.action.as_deref(), Some(form.hints.as_str())];
    let buttons = form.buttons.iter().flat_map(|button| [button.name.as_deref().unwrap_or_default(), &button.text]);
    let all: Vec<&str> = parts.into_iter().flatten().chain(buttons).collect();
    all.join(" ").to_lowercase()
}
