//! Guesses a form's purpose and the roles of its fields, from the strongest sign to the weakest: a password, a message,
//! the form's own words, its fields.

use super::words::{self, contains_any};
use super::{FieldKind, Form, FormField};

/// A form's purpose. The names are those of the labelled forms on which it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormPurpose {
    Login,
    Registration,
    /// Asks for a forgotten password.
    Recovery,
    Search,
    MailingList,
    /// Also comments, and “send this to a friend”.
    Contact,
    Order,
    Other,
}

impl FormPurpose {
    pub fn name(self) -> &'static str {
        match self {
            FormPurpose::Login => "login",
            FormPurpose::Registration => "registration",
            FormPurpose::Recovery => "recovery",
            FormPurpose::Search => "search",
            FormPurpose::MailingList => "mailing-list",
            FormPurpose::Contact => "contact",
            FormPurpose::Order => "order",
            FormPurpose::Other => "other",
        }
    }
}

/// A login asks for a name and a password, sometimes for a code or a company too; a form with more texts is a
/// registration.
const MAX_LOGIN_TEXTS: usize = 3;
/// A form with this many parts of an address is an order.
const ORDER_PARTS: usize = 3;
/// A newsletter asks for an e-mail address, a name, perhaps a company; a form with more texts is something else.
const MAX_NEWSLETTER_TEXTS: usize = 5;

// Weights that separate registrations from logins, set by hand on the 98 logins and 38 registrations among the labelled
// forms.
const SECOND_PASSWORD: i32 = 3;
const STRONG_SIGN: i32 = 2;
const WEAK_SIGN: i32 = 1;

/// No labelled form has half as many fields; the rest of a hostile form is ignored.
const MAX_FIELDS: usize = 100;

impl Form {
    pub fn purpose(&self) -> FormPurpose {
        let own = words::self_description(self);
        if self.passwords() > 0 {
            return if self.is_registration(&own) { FormPurpose::Registration } else { FormPurpose::Login };
        }
        let texts = self.considered_fields().filter(|field| field.is_text()).count();
        if texts == 0 && !self.considered_fields().any(is_query) {
            return self.purpose_without_texts(&own);
        }
        let mails = self.considered_fields().filter(|field| is_mail(field)).count();
        let is_new = contains_any(&own, words::REGISTRATION)
            || self.considered_fields().any(|field| field_contains(field, words::NEW_USER));
        if self.considered_fields().any(|field| field.multiline) {
            return match () {
                () if contains_any(&own, words::REGISTRATION) && mails > 0 => FormPurpose::Registration,
                () if contains_any(&own, words::SEARCH) && mails == 0 => FormPurpose::Search,
                () => FormPurpose::Contact,
            };
        }
        if mails == 0 && self.is_search(&own) {
            return FormPurpose::Search;
        }
        if self.considered_fields().filter(|field| field_contains(field, words::ADDRESS)).count() >= ORDER_PARTS {
            return if is_new { FormPurpose::Registration } else { FormPurpose::Order };
        }
        self.purpose_of_short_form(&own, texts, mails, is_new)
    }

    /// The purpose of a form with only checkboxes, selects and buttons; most of these navigate within the site.
    fn purpose_without_texts(&self, own: &str) -> FormPurpose {
        let named =
            [&self.name, &self.id].into_iter().flatten().any(|it| contains_any(&it.to_lowercase(), words::LOGIN));
        let buttons = words::button_texts(self);
        match () {
            () if contains_any(own, words::REGISTRATION) && contains_any(&buttons, words::TERMS) => {
                FormPurpose::Registration
            }
            // Its fields are created by a script, or asked for on the next page.
            () if named || contains_any(&buttons, words::LOGIN) => FormPurpose::Login,
            () if contains_any(own, words::SEARCH) => FormPurpose::Search,
            () => FormPurpose::Other,
        }
    }

    /// The purpose of a form with an e-mail address or a name and little else, from its words.
    fn purpose_of_short_form(&self, own: &str, texts: usize, mails: usize, is_new: bool) -> FormPurpose {
        let user = self.considered_fields().any(is_user);
        let few = texts <= MAX_LOGIN_TEXTS;
        let recovers = contains_any(own, words::RECOVERY) || contains_any(&self.text, words::FORGOTTEN);
        match () {
            () if contains_any(own, words::NEWSLETTER) && mails > 0 => FormPurpose::MailingList,
            () if recovers && user && few => FormPurpose::Recovery,
            // “Sign up” with only an e-mail address is a newsletter; a registration also has a user name or a captcha.
            () if is_new
                && user
                && (texts > 1
                    || mails == 0
                    || self.considered_fields().any(|it| field_contains(it, words::CAPTCHA))) =>
            {
                FormPurpose::Registration
            }
            // The password is asked for on the next page. A login URL is not enough: all forms of an account have one.
            () if contains_any(&words::button_texts(self), words::LOGIN) && user && few => FormPurpose::Login,
            () if contains_any(&self.text, words::NEWSLETTER) && mails > 0 => FormPurpose::MailingList,
            () if mails > 1 => FormPurpose::Contact,
            () if mails > 0 && texts <= MAX_NEWSLETTER_TEXTS => FormPurpose::MailingList,
            () if contains_any(&self.text, words::SEARCH) && mails == 0 => FormPurpose::Search,
            () => FormPurpose::Other,
        }
    }

    /// The field for the user name: the text field before the password with such a name, or else the nearest before it.
    pub fn username(&self) -> Option<&FormField> {
        let secret = self.password().map(|field| field.node);
        let before = self.fields.iter().position(|field| Some(field.node) == secret).unwrap_or(self.fields.len());
        let (before, after) = self.fields.split_at(before);
        let (before, after) =
            (&before[before.len().saturating_sub(MAX_FIELDS)..], &after[..after.len().min(MAX_FIELDS)]);
        let asked = |field: &&FormField| field.is_text() && !field_contains(field, words::NOT_USER_NAME);
        let told = before.iter().filter(asked).find(|field| field.autocomplete.contains("username"));
        let called = || before.iter().rev().filter(asked).find(|field| is_user(field));
        told.or_else(called)
            .or_else(|| before.iter().rfind(asked))
            .or_else(|| after.iter().filter(asked).find(|field| is_user(field)))
            .or_else(|| before.iter().rfind(|field| field.is_text()))
    }

    /// The field for a one-time code.
    pub fn code(&self) -> Option<&FormField> {
        let mut texts = self.considered_fields().filter(|field| field.is_text() || field.kind == FieldKind::Password);
        texts.find(|field| field.autocomplete.contains("one-time-code") || field_contains(field, words::CODE))
    }

    pub fn password(&self) -> Option<&FormField> {
        self.password_like_fields().next()
    }

    /// The password fields; if there are none, text fields with such a name: some pages show what is typed.
    fn password_like_fields(&self) -> impl Iterator<Item = &FormField> {
        let hidden = self.fields.iter().any(|field| field.kind == FieldKind::Password);
        self.fields.iter().filter(move |field| match field.kind {
            FieldKind::Password => true,
            FieldKind::Text => !hidden && is_called_password(field),
            _ => false,
        })
    }

    /// The field for the search words.
    pub fn query(&self) -> Option<&FormField> {
        let texts = || self.considered_fields().filter(|field| field.is_text());
        let called = texts()
            .find(|field| is_query(field))
            .or_else(|| texts().find(|field| field_contains(field, words::SEARCH)));
        called.or_else(|| texts().next()).or_else(|| self.considered_fields().next())
    }

    /// The visible fields, at most [`MAX_FIELDS`].
    fn considered_fields(&self) -> impl Iterator<Item = &FormField> {
        self.visible().take(MAX_FIELDS)
    }

    fn passwords(&self) -> usize {
        self.nameless_passwords + self.password_like_fields().count()
    }

    /// Whether a form with a password is a registration.
    fn is_registration(&self, own: &str) -> bool {
        let any = |is: &dyn Fn(&FormField) -> bool| self.considered_fields().any(is);
        let box_of = |field: &FormField, words: &str| field.kind == FieldKind::Checkbox && field_contains(field, words);
        let buttons = words::button_texts(self);
        let is_name = |field: &FormField| field.is_text() && is_user(field) && !is_mail(field);
        let new_secret = |field: &FormField| field.autocomplete.contains("new-password");
        let old_secret = |field: &FormField| field.autocomplete.contains("current-password");
        let signs = [
            (SECOND_PASSWORD, self.passwords() > 1),
            (STRONG_SIGN, self.considered_fields().filter(|field| field.is_text()).count() > MAX_LOGIN_TEXTS),
            (WEAK_SIGN, any(&|field| field_contains(field, words::PERSONAL_DATA))),
            (
                WEAK_SIGN,
                self.considered_fields().filter(|field| field_contains(field, words::PERSONAL_DATA)).count() > 1,
            ),
            // A login asks for one or the other.
            (WEAK_SIGN, any(&is_mail) && any(&is_name)),
            (STRONG_SIGN, contains_any(own, words::REGISTRATION)),
            (WEAK_SIGN, contains_any(&buttons, words::REGISTRATION) && !contains_any(&buttons, words::LOGIN)),
            (STRONG_SIGN, any(&|field| box_of(field, words::TERMS))),
            (STRONG_SIGN, any(&new_secret)),
            (-STRONG_SIGN, any(&old_secret)),
            (-STRONG_SIGN, contains_any(own, words::LOGIN)),
            (-STRONG_SIGN, any(&|field| box_of(field, words::REMEMBER))),
        ];
        signs.iter().filter(|(_, is_so)| *is_so).map(|(weight, _)| weight).sum::<i32>() >= STRONG_SIGN
    }

    fn is_search(&self, own: &str) -> bool {
        let called = contains_any(own, words::SEARCH);
        let query = self.considered_fields().any(is_query);
        let field = self.considered_fields().any(|field| field_contains(field, words::SEARCH));
        query || called || field
    }
}

/// Whether the field's name, id or label contains one of the words.
fn field_contains(field: &FormField, words: &str) -> bool {
    contains_any(&field.description(), words)
}

fn is_mail(field: &FormField) -> bool {
    field.is_text() && (field.kind == FieldKind::Email || field_contains(field, words::MAIL))
}

fn is_called_password(field: &FormField) -> bool {
    const NAMES: &[&str] =
        &["password", "passwd", "passwort", "pass", "pwd", "mdp", "password2", "contrasena", "senha", "heslo", "haslo"];
    !field.multiline && NAMES.contains(&field.name.to_lowercase().as_str())
}

/// Whether this field takes the search words.
pub(super) fn is_query(field: &FormField) -> bool {
    match field.name.to_lowercase().as_str() {
        "q" | "query" | "s" | "search" | "keyword" | "keywords" | "k" | "kw" | "term" | "terms" | "text"
        | "searchterm" | "search_query" | "wd" => field.is_text(),
        _ => field.kind == FieldKind::Search,
    }
}

/// Whether this field takes the user name.
pub(super) fn is_user(field: &FormField) -> bool {
    const PARTS: &[&str] = &["user", "login", "email", "e-mail", "mail", "account", "name", "log", "id"];
    let name = field.name.to_lowercase();
    let is_called = || PARTS.iter().any(|part| name.contains(part)) || contains_any(&field.description(), words::USER);
    field.is_text() && (field.kind == FieldKind::Email || is_called())
}
