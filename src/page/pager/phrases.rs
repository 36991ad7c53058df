//! The words of pager links in many languages, in lists separated by bars. A link's text must match one as a whole,
//! except for punctuation around it.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use foldhash::{HashMap, HashSet};

/// The meaning of a link's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMeaning {
    Next,
    /// Only an arrow to the right.
    Arrow,
    Back,
    /// The next article, photo or topic: not another page of this list.
    NextOther,
    /// Older or newer posts of a blog: which of them is next depends on [`super::NextPolicy`].
    Older,
    Newer,
    /// “More events”: a next link only if the URL has a page number.
    More,
    Nothing,
}

const NEXT: &str = "\
    next|next page|next entries|next posts|go to next page|more results|next results|forward|weiter|nächste|\
    nächste seite|naechste|vor|\
    vorwärts|suivant|suivante|suivants|page suivante|siguiente|página siguiente|pagina siguiente|siguientes|\
    próxima|proxima|próximo|proximo|próxima página|seguinte|seguint|següent|volgende|volgende pagina|successivo|\
    successiva|pagina successiva|avanti|prossima|далее|дальше|следующая|следующая страница|след|вперед|вперёд|\
    наступна|následující|další|ďalšia|następna|następny|dalej|nästa|neste|næste|seuraava|urmatoarea|下一页|下一頁|下页|\
    下頁|次へ|次のページ|次の|次|다음|다음 페이지|التالي|הבא|sonraki|ileri|επόμενη|következő|ถัดไป|nästa sida|neste side|\
    næste side|seuraava sivu|następna strona|następne|další strana|další stránka|následujúca|nasledujúca|ďalej|\
    ďalšie|weitere ergebnisse|nächste ergebnisse|nächste treffer|page suivant|suivant page|résultats suivants|\
    página próxima|próximos|próximas|siguiente página|siguiente pagina|seguinte página|página seguinte|seguente|\
    pagina seguente|prossimo|prossima pagina|successive|verder|volgende resultaten|следующие|следующий|\
    на следующую страницу|вперед страница|наступна сторінка|далі|следваща|напред|sljedeća|sljedeće|sledeća|\
    naslednja|naprej|următoarea|următorul|urmatorul|înainte|inainte|pagina următoare|kitas|nākamā|järgmine|\
    tovább|következő oldal|sonraki sayfa|επόμενο|επόμενη σελίδα|tiếp|tiếp theo|trang sau|selanjutnya|berikutnya|\
    seterusnya|หน้าถัดไป|次ページ|次頁|つぎへ|다음페이지|后一页|后页|下一个|التالية|الصفحة التالية|بعدی|صفحه بعد|הבאה|הדף הבא|\
    עמוד הבא";
/// Phrases inside a longer text: “Go to the next page”.
const NEXT_PHRASES: &str = "\
    next page|nächste seite|nächsten seite|page suivante|página siguiente|siguiente página|próxima página|\
    pagina successiva|volgende pagina|следующая страница|следующую страницу|następna strona|następnej strony|\
    další strán|nästa sida|neste side|næste side|下一页|下一頁|次のページ|다음 페이지";
/// Previous, first and last page.
const BACK: &str = "\
    prev|previous|previous page|back|zurück|vorherige|précédent|précédente|anterior|anteriores|vorige|\
    precedente|indietro|назад|предыдущая|пред|předchozí|poprzednia|wstecz|föregående|forrige|edellinen|上一页|上一頁|\
    前へ|이전|önceki|first|prev page|vorherige seite|vorige seite|page précédente|précédents|página anterior|\
    pagina anterior|anteriors|vorige pagina|pagina precedente|предыдущая страница|předchozí strana|\
    poprzednia strona|poprzedni|föregående sida|forrige side|edellinen sivu|predchádzajúca|prethodna|prejšnja|\
    anterioara|anterioară|precedent|előző|előző oldal|önceki sayfa|geri|προηγούμενη|προηγούμενο|trước|\
    trang trước|sebelumnya|ก่อนหน้า|前のページ|前へ戻る|上页|上頁|前一页|이전 페이지|السابق|السابقة|הקודם|قبلی|first page|last|\
    last page|letzte|letzte seite|erste|dernière|dernière page|dernier|première|última|ultima|última página|\
    primera|primeira|laatste|eerste|последняя|первая|в конец|конец|ostatnia|pierwsza|poslední|první|末页|末頁|尾页|\
    最后一页|最后|首页|最後|最初|마지막|처음|son|ilk|sista|siste|sidste|viimeinen";
/// Links of blogs to older posts; below, to newer ones.
const OLDER: &str = "\
    older|older posts|older entries|older articles|older stories|older news|older comments|older items|\
    previous entries|previous posts|ältere beiträge|ältere einträge|ältere artikel|ältere posts|\
    entradas antiguas|entradas más antiguas|entradas anteriores|articles plus anciens|messages plus anciens|\
    articles précédents|anciens articles|postagens mais antigas|posts antigos|posts mais antigos|\
    post più vecchi|articoli meno recenti|articoli più vecchi|oudere berichten|oudere posts|starsze posty|\
    starsze wpisy|starší příspěvky|staršie príspevky|régebbi bejegyzések|предыдущие записи|более старые записи|\
    старые записи|eski yazılar|daha eski yazılar|eski kayıtlar|äldre inlägg|ældre indlæg|eldre innlegg|\
    vanhemmat|過去の投稿|以前の記事|古い投稿|较早的文章|较旧的文章|旧的文章|이전 글|postingan lama";
const NEWER: &str = "\
    newer|newer posts|newer entries|newer articles|newer stories|newer news|newer comments|newer items|\
    neuere beiträge|neuere einträge|neuere artikel|neuere posts|entradas recientes|\
    entradas más recientes|articles plus récents|messages plus récents|postagens mais recentes|posts recentes|\
    posts mais recentes|post più recenti|articoli più recenti|\
    nieuwere berichten|nieuwere posts|nowsze posty|nowsze wpisy|novější příspěvky|novšie príspevky|\
    újabb bejegyzések|более новые записи|новые записи|yeni yazılar|daha yeni yazılar|\
    yeni kayıtlar|nyare inlägg|nyere indlæg|nyere innlegg|uudemmat|新しい投稿|新しい記事|较新的文章|新的文章|postingan baru";
/// Words after “next” that mean something else than a page.
const OTHERS: &str = "\
    post|article|story|thread|topic|photo|image|picture|video|chapter|item|product|month|week|day|year|slide|\
    event|episode|question|step|entry";
/// Labels of “load more” buttons.
const MORE: &str = "\
    load more|show more|view more|see more|more results|more posts|mehr laden|mehr anzeigen|weitere laden|\
    charger plus|voir plus|afficher plus|cargar más|mostrar más|ver más|carregar mais|ver mais|mostrar mais|\
    carica altri|mostra altri|meer laden|toon meer|показать ещё|показать еще|загрузить ещё|загрузить еще|\
    pokaż więcej|načíst další|visa fler|vis flere|もっと見る|加载更多|載入更多|더보기";
/// Arrows, and their names in icon fonts.
const ARROWS: &str = "\
    >|>>|»|›|→|▶|►|⟩|➔|→→|»»|⇒|❯|▸||navigate_next|chevron_right|keyboard_arrow_right|arrow_forward|arrow_right";

/// The meaning of a text that matches a phrase as a whole. Looked up for every link of every page, so it is one hash
/// table.
pub fn meaning_of(text: &str) -> Option<LinkMeaning> {
    static TABLE: LazyLock<HashMap<&str, LinkMeaning>> = LazyLock::new(|| {
        let lists = [
            (BACK, LinkMeaning::Back),
            (NEWER, LinkMeaning::Newer),
            (OLDER, LinkMeaning::Older),
            (NEXT, LinkMeaning::Next),
        ];
        lists.into_iter().flat_map(|(list, says)| list.split('|').map(move |it| (it, says))).collect()
    });
    TABLE.get(text).copied()
}

pub fn is_arrow(text: &str) -> bool {
    static TABLE: LazyLock<HashSet<&str>> = LazyLock::new(|| ARROWS.split('|').collect());
    TABLE.contains(text)
}

/// Whether the text contains a phrase for “next page”.
pub fn mentions_next(text: &str) -> bool {
    static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(NEXT_PHRASES.split('|')).ok());
    FINDER.as_ref().is_some_and(|finder| finder.is_match(text))
}

pub fn begins_with_more(text: &str) -> bool {
    static PHRASES: LazyLock<Vec<&str>> = LazyLock::new(|| MORE.split('|').collect());
    PHRASES.iter().any(|it| text.starts_with(it))
}

/// Whether the words after “next” name something else than a page.
pub fn names_other_content(text: &str) -> bool {
    OTHERS.split('|').any(|it| text.starts_with(it))
}
