//! A minimal HTTP/1.1 server with persistent connections that serves the pages.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{PAGES, ROWS};

pub fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        println!("{}", listener.local_addr().expect("it is bound").port());
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
}

async fn answer(stream: TcpStream) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if stream.read_line(&mut first).await.ok()? == 0 {
            return None;
        }
        let mut header = String::new();
        while header != "\r\n" {
            header.clear();
            stream.read_line(&mut header).await.ok()?;
        }
        let number = first.split("page=").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let (status, body) = match number {
            Some(number) if number <= PAGES => ("200 OK", page(number)),
            _ => ("404 Not Found", String::new()),
        };
        let kind = "Content-Type: text/html; charset=utf-8\r\n";
        let answer = format!("HTTP/1.1 {status}\r\n{kind}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.get_mut().write_all(answer.as_bytes()).await.ok()?;
    }
}

/// A list page of some 4 kB.
pub fn page(number: usize) -> String {
    let row = |at: usize| {
        let id = number * ROWS + at;
        format!(
            "<li class=\"product\"><h3><a href=\"/product/{id}\">Product number {id}</a></h3>\n\
             <p class=\"price\">{}.{:02} €</p>\n<p class=\"stock\">{} in stock</p>\
             <p class=\"text\">A thing of some use, from the makers of number {}.</p></li>\n",
            id % 900,
            id % 100,
            id % 17,
            id / 3
        )
    };
    let rows: String = (0..ROWS).map(row).collect();
    let next = if number < PAGES {
        format!("<a rel=\"next\" href=\"/list?page={}\">Next</a>", number + 1)
    } else {
        String::new()
    };
    let menu: String = (0..12).map(|at| format!("<li><a href=\"/shelf/{at}\">Shelf {at}</a></li>")).collect();
    format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><title>List, page {number}</title></head><body>\n\
         <header><nav><ul>{menu}</ul></nav></header><main><h1>Products</h1>\n<ul class=\"products\">\n{rows}</ul>\n\
         <div class=\"pager\">{next}</div></main><footer><p>A shop to measure with.</p></footer></body></html>\n"
    )
}
