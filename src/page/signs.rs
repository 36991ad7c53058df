//! Detects pages that show something else instead of their list: a login form, a CAPTCHA, an error, no results.

use super::{NodeId, Tree};
use crate::model::Signs;

/// Maximum length of text that is searched.
const MAX_CHARS: usize = 20_000;
/// A page that blocks visitors has at most this much text.
const MAX_SHORT_CHARS: usize = 4_000;

/// Phrases of pages that block automated visitors, separated by bars like all lists here.
const BLOCKED: &str = "\
    captcha|are you human|are you a human|verify you are human|verify that you are human|not a robot|\
    unusual traffic|just a moment|checking your browser|access denied|you have been blocked|request blocked|\
    too many requests|pardon our interruption|attention required";

/// Phrases of error pages, whatever their HTTP status.
const ERROR: &str = "\
    404|not found|page cannot be found|page can't be found|500|internal server error|server error|502|bad gateway|\
    503|service unavailable|temporarily unavailable|gateway time|under maintenance|maintenance|an error occurred|\
    something went wrong|error occurred|seite nicht gefunden|nicht verfügbar|wartungsarbeiten|page introuvable|\
    erreur|página no encontrada|pagina non trovata|pagina niet gevonden|strona nie została znaleziona|\
    страница не найдена|ページが見つかりません|页面不存在";

/// Phrases of pages that correctly show no results.
const NO_RESULTS: &str = "\
    no results|no result found|no matches|no matching|no records found|no items found|no entries found|\
    nothing found|nothing was found|nothing matched|0 results|did not match any|didn't match any|there are no|\
    keine treffer|keine ergebnisse|keine einträge|nichts gefunden|leider nichts|aucun résultat|aucune annonce|\
    sin resultados|no se encontraron|no se han encontrado|ningún resultado|nessun risultato|geen resultaten|\
    niets gevonden|nenhum resultado|não encontramos|inga träffar|inga resultat|ingen resultater|ingen treff|\
    ei tuloksia|brak wyników|nie znaleziono|žádné výsledky|nic nenalezeno|nincs találat|ничего не найдено|\
    нічого не знайдено|δεν βρέθηκαν|sonuç bulunamadı|没有找到|没有结果|無搜尋結果|見つかりませんでした|該当する|검색 결과가 없습니다";

/// `body` is the page as it was received.
pub fn detect(tree: &Tree, body: &[u8]) -> Signs {
    let shown = visible_text(tree, std::iter::once(tree.root()));
    let is_title = |&node: &NodeId| matches!(tree.tag(node), "title" | "h1" | "h2");
    let titles = visible_text(tree, tree.subtree(tree.root()).filter(is_title));
    let says = |phrases: &str, text: &str| phrases.split('|').any(|phrase| text.contains(phrase));
    let is_short = shown.chars().count() < MAX_SHORT_CHARS;
    Signs {
        login: tree.subtree(tree.root()).any(|node| {
            tree.tag(node) == "input"
                && tree.attribute(node, "type").is_some_and(|it| it.eq_ignore_ascii_case("password"))
        }),
        blocked: says(BLOCKED, &titles) || is_short && says(BLOCKED, &shown),
        error: says(ERROR, &titles),
        no_results: says(NO_RESULTS, &shown),
        cut_off: is_cut_off(body),
    }
}

/// Title and main heading in small letters, without numbers: page 4 of a list may be called “401 to 500”.
pub fn title(tree: &Tree) -> String {
    let is_title = |&node: &NodeId| matches!(tree.tag(node), "title" | "h1");
    let text = visible_text(tree, tree.subtree(tree.root()).filter(is_title));
    text.chars().filter(|c| !c.is_numeric()).collect()
}

/// True if a [`title`] is that of an error page or a block page.
pub fn is_error_title(title: &str) -> bool {
    ERROR.split('|').chain(BLOCKED.split('|')).any(|phrase| title.contains(phrase))
}

fn visible_text(tree: &Tree, nodes: impl Iterator<Item = NodeId>) -> String {
    let mut text = String::new();
    for words in nodes.flat_map(|node| tree.visible_texts(node)) {
        if text.len() > MAX_CHARS {
            break;
        }
        text.extend(words.chars().flat_map(char::to_lowercase));
        text.push(' ');
    }
    text
}

/// True if the document is cut off: it begins, but has neither `</html>` nor `</body>` near its end.
fn is_cut_off(body: &[u8]) -> bool {
    is_document(body) && !is_closed(body)
}

/// True if the page is a whole document, and not a piece of one.
pub fn is_document(body: &[u8]) -> bool {
    has(body, b"<html") || has(body, b"<body")
}

/// True if the document's end tag stands near its end.
pub fn is_closed(body: &[u8]) -> bool {
    /// Room for comments and scripts after the end tag.
    const TAIL: usize = 4_000;
    let tail = &body[body.len().saturating_sub(TAIL)..];
    has(tail, b"</html") || has(tail, b"</body")
}

fn has(text: &[u8], tag: &[u8]) -> bool {
    text.windows(tag.len()).any(|it| it.eq_ignore_ascii_case(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(page: &str) -> Signs {
        detect(&Tree::parse(page), page.as_bytes())
    }

    #[test]
    fn a_page_without_its_list_says_why() {
        let none = Signs::default();
        for (page, wanted) in [
            ("<html><h1>Hotels</h1><ul><li>Adler<li>Ida</ul></html>", none),
            ("<html><form><input type=PASSWORD></form></html>", Signs { login: true, ..none }),
            ("<html><title>Just a moment...</title></html>", Signs { blocked: true, ..none }),
            ("<html><h1>404 Not Found</h1></html>", Signs { error: true, ..none }),
            ("<html><p>Leider keine Treffer.</p></html>", Signs { no_results: true, ..none }),
            ("<html><body><ul><li>Adler<li>Id", Signs { cut_off: true, ..none }),
            ("<ul><li>a fragment has no end", none),
        ] {
            assert_eq!(signs(page), wanted, "{page}");
        }
        let long = format!("<html><p>{}</p><p>Our captcha is fair.</p></html>", "All the news. ".repeat(400));
        assert_eq!(signs(&long), none, "a long page may speak of it");
    }
}
