//! The baseline: a plain reqwest + scraper loop that fetches several pages at a time.

use futures_util::{StreamExt, stream};
use scraper::{Html, Selector};

use super::PAGES;

pub fn crawl(port: u16, at_a_time: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    // This build of reqwest has no default TLS provider; an error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let rows = runtime.block_on(async {
        let client = reqwest::Client::new();
        let rows = stream::iter(1..=PAGES)
            .map(|number| {
                let client = client.clone();
                async move {
                    let url = format!("http://127.0.0.1:{port}/list?page={number}");
                    let text = client.get(url).send().await.expect("an answer").text().await.expect("a page");
                    records(&text).len()
                }
            })
            .buffer_unordered(at_a_time);
        rows.fold(0, |sum, rows| async move { sum + rows }).await
    });
    println!("{rows}");
}

struct Selectors {
    row: Selector,
    fields: [Selector; 4],
}

fn records(text: &str) -> Vec<Vec<String>> {
    thread_local! {
        static SELECTORS: Selectors = {
            let parse = |css: &str| Selector::parse(css).expect("a constant selector");
            Selectors { row: parse("li.product"), fields: ["h3 a", ".price", ".stock", ".text"].map(parse) }
        };
    }
    let page = Html::parse_document(text);
    SELECTORS.with(|it| {
        let row = |row: scraper::ElementRef<'_>| {
            let link = row.select(&it.fields[0]).next().and_then(|a| a.value().attr("href")).unwrap_or_default();
            let texts = it
                .fields
                .iter()
                .map(|field| row.select(field).next().map(|it| it.text().collect()).unwrap_or_default());
            texts.chain([link.to_owned()]).collect()
        };
        page.select(&it.row).map(row).collect()
    })
}
