use std::collections::BTreeMap;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use url::Url;

use super::*;

fn filled(html: &str, wanted: &str, values: &[(&str, &str)], button: Option<&str>) -> Result<FilledForm, FormError> {
    filled_in(html, wanted, values, button, UTF_8)
}

fn filled_in(
    html: &str,
    wanted: &str,
    values: &[(&str, &str)],
    button: Option<&str>,
    encoding: &'static Encoding,
) -> Result<FilledForm, FormError> {
    let tree = Tree::parse(html);
    let page = Url::parse("http://shop.test/dir/page?old=1#top").expect("a URL");
    let values: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    FilledForm::new(
        &find(&tree, wanted).expect("the form of the table"),
        &page,
        encoding,
        &values,
        button.map_or(SubmitButton::First, SubmitButton::Named),
    )
}

/// What is sent, as `METHOD url body`.
fn check(html: &str, values: &[(&str, &str)], sent: &str) {
    let filled = filled(html, "form", values, None).expect("a form that can be filled");
    let method = if filled.post { "POST" } else { "GET" };
    let text = format!("{method} {} {}", filled.url, String::from_utf8_lossy(&filled.body.unwrap_or_default()));
    assert_eq!(text.trim_end(), sent, "{html}");
}

#[test]
fn a_form_is_sent_as_a_browser_sends_it() {
    check("<form><input name=q value=x></form>", &[], "GET http://shop.test/dir/page?q=x");
    check("<form action=/go?gone=1><input name=q></form>", &[("q", "a b&c")], "GET http://shop.test/go?q=a+b%26c");
    check(
        "<form method=POST action=go?kept=1><input name=q></form>",
        &[("q", "ä")],
        "POST http://shop.test/dir/go?kept=1 q=%C3%A4",
    );
    check("<form method=post><input name=a></form>", &[("a", "1")], "POST http://shop.test/dir/page?old=1 a=1");
    check("<base href=/else/><form method=post action=x><input name=a></form>", &[], "POST http://shop.test/else/x a=");
    check(
        "<form><input type=hidden name=t value=tok><input name=q></form>",
        &[("q", "1")],
        "GET http://shop.test/dir/page?t=tok&q=1",
    );
    check(
        "<form><input type=checkbox name=a checked><input type=checkbox name=b value=1>\
         <input type=radio name=r value=x><input type=radio name=r value=y checked></form>",
        &[],
        "GET http://shop.test/dir/page?a=on&r=y",
    );
    check(
        "<form><input name=a disabled value=1><fieldset disabled><input name=b></fieldset><input value=z></form>",
        &[],
        "GET http://shop.test/dir/page?",
    );
    check(
        "<form><select name=s><option value=1>One<option value=2 selected>Two</select></form>",
        &[],
        "GET http://shop.test/dir/page?s=2",
    );
    check("<form><select name=s><option>One<option>Two</select></form>", &[], "GET http://shop.test/dir/page?s=One");
    check("<form><textarea name=t>a\nb</textarea></form>", &[], "GET http://shop.test/dir/page?t=a%0D%0Ab");
    check(
        "<form><input name=q value=1><input type=submit name=go value=Go><button name=other>x</button></form>",
        &[],
        "GET http://shop.test/dir/page?q=1&go=Go",
    );
    check(
        "<form><button type=button name=no>x</button><input type=image name=i></form>",
        &[],
        "GET http://shop.test/dir/page?i.x=0&i.y=0",
    );
    check("<form id=f></form><input form=f name=out value=side>", &[], "GET http://shop.test/dir/page?out=side");
    check(
        "<table><form action=/t><tr><td><input name=a value=1><td><input type=submit></tr></form></table>",
        &[],
        "GET http://shop.test/t?a=1",
    );
}

#[test]
fn fields_are_filled_by_name_id_label_or_purpose() {
    let form = "<form><label for=x>City: </label><input id=x name=f1><label>Stars <select name=f2><option value=3>three\
        <option value=4>four</select></label><input type=radio name=f3 value=a>\
        <label><input type=radio name=f3 value=b> Bee</label><input type=checkbox name=f4></form>";
    check(
        form,
        &[("f1", "H"), ("f2", "4"), ("f3", "b"), ("f4", "yes")],
        "GET http://shop.test/dir/page?f1=H&f2=4&f3=b&f4=on",
    );
    check(form, &[("city", "H"), ("Stars", "Four"), ("f3", "bee")], "GET http://shop.test/dir/page?f1=H&f2=4&f3=b");
    check(form, &[("x", "H")], "GET http://shop.test/dir/page?f1=H&f2=3");
    let login = "<form method=post><input name=log><input type=password name=pwd></form>";
    check(login, &[("user", "anna"), ("password", "x")], "POST http://shop.test/dir/page?old=1 log=anna&pwd=x");
}

#[test]
fn a_form_that_does_not_have_what_is_wanted_says_what_it_has() {
    let form = "<form><input name=user><select name=s><option>One<option>Two</select><button>Go</button></form>";
    for (values, button, message) in [
        (&[("usr", "x")][..], None, "has no field “usr”; it has: user, s"),
        (&[("s", "Three")][..], None, "has no choice “Three” in “s”; it has: One, Two"),
        (&[][..], Some("Send"), "has no button “Send”; it has: Go"),
    ] {
        assert_eq!(filled(form, "form", values, button).expect_err("refused").to_string(), message);
    }
}

#[test]
fn a_form_with_parts_is_sent_in_parts() {
    let form = "<form method=post enctype=multipart/form-data><input type=hidden name=token value=t1>\
        <input name='a\"b'><input type=file name=photo><button name=go value=1>Go</button></form>";
    let filled = filled(form, "form", &[("a\"b", "x\ny")], None).expect("a form that can be filled");
    let boundary = filled.content_type.strip_prefix("multipart/form-data; boundary=").expect("a boundary");
    let body = String::from_utf8(filled.body.expect("a body")).expect("text");
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nt1\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\nx\r\ny\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"go\"\r\n\r\n1\r\n--{boundary}--\r\n"
    );
    assert_eq!(body, expected);
}

#[test]
fn a_post_back_sends_the_whole_form_and_no_button() {
    let tree = Tree::parse(
        "<form method=post action=list.aspx><input type=hidden name=__VIEWSTATE value=abc>\
         <input type=hidden name=__EVENTTARGET><input name=town value=Halifax>\
         <input type=submit name=search value=Search></form>",
    );
    let event = crate::page::post_back::PostBack { target: "grid".to_owned(), argument: "Page$2".to_owned() };
    let page = Url::parse("http://shop.test/list.aspx").expect("a URL");
    let filled = FilledForm::post_back(&find_all(&tree)[0], &page, UTF_8, &event).expect("a form that can be sent");
    let body = String::from_utf8(filled.body.expect("a body")).expect("text");
    assert_eq!(body, "__VIEWSTATE=abc&__EVENTTARGET=grid&town=Halifax&__EVENTARGUMENT=Page%242");
}

#[test]
fn the_button_that_is_named_is_pressed() {
    let form = "<form><button name=a value=1>One</button><button name=b value=2 formaction=/b>Two</button></form>";
    let pressed = |button| filled(form, "form", &[], Some(button)).expect("pressed").url.to_string();
    assert_eq!(pressed("b"), "http://shop.test/b?b=2");
    assert_eq!(pressed("two"), "http://shop.test/b?b=2");
    assert_eq!(pressed("One"), "http://shop.test/dir/page?a=1");
}

#[test]
fn a_form_is_written_in_the_charset_of_its_page() {
    let form = "<form><input name=q></form>";
    let sent = filled_in(form, "form", &[("q", "ä€")], None, WINDOWS_1252).expect("filled");
    assert_eq!(sent.url.query(), Some("q=%E4%80"));
    let asked =
        filled_in("<form accept-charset=utf-8><input name=q></form>", "form", &[("q", "ä")], None, WINDOWS_1252);
    assert_eq!(asked.expect("filled").url.query(), Some("q=%C3%A4"));
}

#[test]
fn forms_are_found_by_what_they_are_for() {
    let page = "<form name=newsletter><input name=email></form>\
        <form id=reg action=/register><input name=name><input name=email>\
        <input type=password name=p1><input type=password name=p2></form>\
        <form action=/session><input name=user><input type=password name=pw></form>\
        <form class=top><input type=search name=words></form>\
        <form name=opinion><textarea name=text2></textarea></form>";
    let tree = Tree::parse(page);
    let first_field = |wanted: &str| find(&tree, wanted).map(|form| form.fields[0].name.clone());
    for (wanted, field) in [
        ("login", Some("user")),
        ("search", Some("words")),
        ("newsletter", Some("email")),
        ("reg", Some("name")),
        ("form.top", Some("words")),
        ("[name=text2]", Some("text2")),
        ("nothing", None),
        ("[[", None),
    ] {
        assert_eq!(first_field(wanted).as_deref(), field, "{wanted}");
    }
    let names: Vec<String> = find_all(&tree).iter().map(Form::describe).collect();
    assert_eq!(names, ["newsletter", "reg", "login", "search", "opinion"]);
}

#[test]
fn a_registration_is_not_taken_for_a_log_in() {
    let page = "<form><input name=a><input name=b><input name=c><input name=d><input type=password name=p></form>\
        <form><input type=password name=p1><input type=password name=p2></form>";
    assert!(find(&Tree::parse(page), "login").is_none());
}

/// What each form of the page is for, with its user, password and query fields.
fn form_purposes(html: &str) -> Vec<String> {
    let name = |field: Option<&FormField>| field.map_or("-", |field| field.name.as_str()).to_owned();
    let forms = find_all(&Tree::parse(html));
    let told = forms.iter().map(|form| {
        let fields = match form.purpose() {
            FormPurpose::Login => format!(" {} {}", name(form.username()), name(form.password())),
            FormPurpose::Search => format!(" {}", name(form.query())),
            _ => String::new(),
        };
        format!("{}{fields}", form.purpose().name())
    });
    told.collect()
}

#[test]
fn a_form_tells_what_it_is_for() {
    for (form, expected) in [
        ("<input name=u><input type=password name=p><input type=submit value='Log in'>", "login u p"),
        ("<input name=company><input name=user><input type=password name=p><button>Anmelden</button>", "login user p"),
        ("<input type=email name=e><input type=password name=p><input type=checkbox name=remember>", "login e p"),
        ("<input name=login><input name=captcha><input type=password name=p><button>Войти</button>", "login login p"),
        ("<input name=x autocomplete=username><input name=mailcode><input type=password name=p>", "login x p"),
        ("<input name=email value='your address'><input name=password value='your password'>", "login email password"),
        ("<input type=email name=e><button name=login>Continue</button>", "login e -"),
        ("<input name=u><input type=password><button>Sign in</button>", "login u -"),
        ("<input name=email><input type=password name=p><input type=password name=p2>", "registration"),
        ("<input name=email><input type=password name=p><button>Sign up</button>", "registration"),
        ("<input name=email><input type=password name=p autocomplete=new-password>", "registration"),
        ("<input name=email><input type=password name=p><input type=checkbox name=agb>", "registration"),
        ("<input name=vorname><input name=nachname><input name=email><input type=password name=p>", "registration"),
        ("<input name=new_user_name><input name=new_user_email>", "registration"),
        ("<h2>Forgot your password?</h2><input name=email><button>Send</button>", "recovery"),
        ("<h2>Passwort vergessen</h2><input name=user><button>OK</button>", "recovery"),
        ("<input name=q>", "search q"),
        ("<select name=where></select><input name=town><button>Suchen</button>", "search town"),
        ("<input type=search name=words>", "search words"),
        ("<input name=email><button>Subscribe</button>", "mailing-list"),
        ("<input name=email><button>Sign up</button>", "mailing-list"),
        ("<input name=name><input name=email><textarea name=text></textarea>", "contact"),
        ("<input name=street><input name=city><input name=zip><input name=email>", "order"),
        ("<select name=style></select>", "other"),
        ("<input type=hidden name=token>", "other"),
    ] {
        assert_eq!(form_purposes(&format!("<form method=post>{form}</form>")), [expected], "{form}");
    }
}

#[test]
fn a_form_calls_itself_what_it_is_for() {
    for (form, expected) in [
        ("<form role=search><input name=x></form>", "search x"),
        ("<form action=/suche><input name=x></form>", "search x"),
        ("<form id=login><button>Go on</button></form>", "login - -"),
        (
            "<form action=/user/register><input name=name><input name=mail><textarea name=me></textarea></form>",
            "registration",
        ),
        ("<form action=/password/reset><input name=email></form>", "recovery"),
        ("<form class=newsletter><input name=name><input name=email></form>", "mailing-list"),
    ] {
        assert_eq!(form_purposes(form), [expected], "{form}");
    }
}

/// The labelled pages: `PIEME_CORPUS`, or `shared` beside the repository.
#[test]
#[expect(clippy::print_stderr, reason = "a test that measures nothing must say so")]
fn the_log_ins_of_real_pages_are_found() {
    let corpus = std::env::var("PIEME_CORPUS").unwrap_or_else(|_| "../shared".to_owned());
    let folder = std::path::Path::new(&corpus).join("robot/forms");
    let Ok(list) = std::fs::read_to_string(folder.join("forms.json")) else {
        eprintln!("not measured: no {}", folder.display());
        return;
    };
    #[derive(serde::Deserialize)]
    struct FormPageCase {
        file: String,
        forms: Vec<LabelledForm>,
    }
    #[derive(serde::Deserialize)]
    struct LabelledForm {
        r#type: String,
        fields: BTreeMap<String, String>,
    }
    let cases: Vec<FormPageCase> = serde_json::from_str(&list).expect("the corpus is JSON");
    let (mut wanted, mut said, mut hit, mut password_known, mut password_hit) = (0, 0, 0, 0, 0);
    for case in &cases {
        let bytes = std::fs::read(folder.join(&case.file)).expect("a page of the corpus");
        let forms = find_all(&Tree::parse(&crate::page::charset::decode(&bytes, None).text));
        for (place, labelled) in case.forms.iter().enumerate() {
            let form = forms.get(place).filter(|form| form.purpose() == FormPurpose::Login);
            wanted += usize::from(labelled.r#type == "login");
            said += usize::from(form.is_some());
            let Some(form) = form.filter(|_| labelled.r#type == "login") else { continue };
            hit += 1;
            // In a dozen forms nobody labelled the fields.
            if labelled.fields.values().any(|it| it == "p1") {
                password_known += 1;
                let label = form.password().and_then(|field| labelled.fields.get(&field.name));
                password_hit += usize::from(label.is_some_and(|it| it == "p1"));
            }
        }
    }
    let figures = format!("{hit} of {wanted} found, {said} said, password {password_hit} of {password_known}");
    assert!(
        hit * 100 >= wanted * 95 && hit * 100 >= said * 95 && password_hit * 100 >= password_known * 97,
        "{figures}"
    );
}
