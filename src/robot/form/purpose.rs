//! What a form is for, and which of its fields takes what. Decided in steps, from the surest sign to the weakest: a password, a
//! message, what the form calls itself, what its fields are.

use super::find::{is_query, is_user};
use super::words::{self, says};
use super::{Field, Form, Kind};

/// What a form is for. The words are those of the labelled forms that it was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
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

impl Purpose {
    pub fn word(self) -> &'static str {
        match self {
            Purpose::Login => "login",
            Purpose::Registration => "registration",
            Purpose::Recovery => "recovery",
            Purpose::Search => "search",
            Purpose::MailingList => "mailing-list",
            Purpose::Contact => "contact",
            Purpose::Order => "order",
            Purpose::Other => "other",
        }
    }
}

/// A log-in asks for a name and a password, at times for a code or a company too; who asks for more registers somebody.
const MAX_LOGIN_TEXTS: usize = 3;
/// So many parts of an address are asked for where something is sent to.
const ORDER_PARTS: usize = 3;
/// A newsletter asks for the address, a name, perhaps a company; who asks for more wants something else.
const MAX_LETTER_TEXTS: usize = 5;

// What tells a registration from a log-in, weighed by hand on the 98 log-ins and 38 registrations among the labelled forms.
const SECOND_PASSWORD: i32 = 3;
const SIGN: i32 = 2;
const HINT: i32 = 1;

/// No form of the labelled pages has half as many fields; a hostile one is not read to its end.
const MAX_FIELDS: usize = 100;

impl Form {
    pub fn purpose(&self) -> Purpose {
        let own = words::own(self);
        if self.passwords() > 0 {
            return if self.registers(&own) { Purpose::Registration } else { Purpose::Login };
        }
        let texts = self.read().filter(|field| field.is_text()).count();
        if texts == 0 && !self.read().any(is_query) {
            return self.without_texts(&own);
        }
        let mails = self.read().filter(|field| is_mail(field)).count();
        let is_new = says(&own, words::REGISTRATION) || self.read().any(|field| is_of(field, words::NEWCOMER));
        if self.read().any(|field| field.long) {
            return match () {
                () if says(&own, words::REGISTRATION) && mails > 0 => Purpose::Registration,
                () if says(&own, words::SEARCH) && mails == 0 => Purpose::Search,
                () => Purpose::Contact,
            };
        }
        if mails == 0 && self.searches(&own) {
            return Purpose::Search;
        }
        if self.read().filter(|field| is_of(field, words::ADDRESS)).count() >= ORDER_PARTS {
            return if is_new { Purpose::Registration } else { Purpose::Order };
        }
        self.of_few_texts(&own, texts, mails, is_new)
    }

    /// Boxes, choices and buttons only: most lead somewhere else in the site.
    fn without_texts(&self, own: &str) -> Purpose {
        let named = [&self.name, &self.id].into_iter().flatten().any(|it| says(&it.to_lowercase(), words::LOGIN));
        let buttons = words::buttons(self);
        match () {
            () if says(own, words::REGISTRATION) && says(&buttons, words::TERMS) => Purpose::Registration,
            // Its fields are made by a script, or asked for on the next page.
            () if named || says(&buttons, words::LOGIN) => Purpose::Login,
            () if says(own, words::SEARCH) => Purpose::Search,
            () => Purpose::Other,
        }
    }

    /// An address or a name, and little else: what it is for is only said in words.
    fn of_few_texts(&self, own: &str, texts: usize, mails: usize, is_new: bool) -> Purpose {
        let user = self.read().any(is_user);
        let few = texts <= MAX_LOGIN_TEXTS;
        let recovers = says(own, words::RECOVERY) || says(&self.text, words::FORGOTTEN);
        match () {
            () if says(own, words::LETTER) && mails > 0 => Purpose::MailingList,
            () if recovers && user && few => Purpose::Recovery,
            // “Sign up” with nothing but an address is a newsletter; who is registered chooses a name, or proves to be a person.
            () if is_new && user && (texts > 1 || mails == 0 || self.read().any(|it| is_of(it, words::CAPTCHA))) => {
                Purpose::Registration
            }
            // The password is asked for on the next page. An address of this kind is not enough: all of an account's have it.
            () if says(&words::buttons(self), words::LOGIN) && user && few => Purpose::Login,
            () if says(&self.text, words::LETTER) && mails > 0 => Purpose::MailingList,
            () if mails > 1 => Purpose::Contact,
            () if mails > 0 && texts <= MAX_LETTER_TEXTS => Purpose::MailingList,
            () if says(&self.text, words::SEARCH) && mails == 0 => Purpose::Search,
            () => Purpose::Other,
        }
    }

    /// Where the user's name goes: the text before the password that is called so, or else the nearest one before it.
    pub fn username(&self) -> Option<&Field> {
        let secret = self.password().map(|field| field.node);
        let before = self.fields.iter().position(|field| Some(field.node) == secret).unwrap_or(self.fields.len());
        let (before, after) = self.fields.split_at(before);
        let (before, after) =
            (&before[before.len().saturating_sub(MAX_FIELDS)..], &after[..after.len().min(MAX_FIELDS)]);
        let asked = |field: &&Field| field.is_text() && !is_of(field, words::NO_NAME);
        let told = before.iter().filter(asked).find(|field| field.autocomplete.contains("username"));
        let called = || before.iter().rev().filter(asked).find(|field| is_user(field));
        told.or_else(called)
            .or_else(|| before.iter().rfind(asked))
            .or_else(|| after.iter().filter(asked).find(|field| is_user(field)))
            .or_else(|| before.iter().rfind(|field| field.is_text()))
    }

    /// Where a one-time code goes.
    pub fn code(&self) -> Option<&Field> {
        let mut texts = self.read().filter(|field| field.is_text() || field.kind == Kind::Password);
        texts.find(|field| field.autocomplete.contains("one-time-code") || is_of(field, words::CODE))
    }

    pub fn password(&self) -> Option<&Field> {
        self.secrets().next()
    }

    /// The passwords; where there is none, texts that are called so: some pages show what is typed.
    fn secrets(&self) -> impl Iterator<Item = &Field> {
        let hidden = self.fields.iter().any(|field| field.kind == Kind::Password);
        self.fields.iter().filter(move |field| match field.kind {
            Kind::Password => true,
            Kind::Text => !hidden && is_called_password(field),
            _ => false,
        })
    }

    /// Where the words searched for go.
    pub fn query(&self) -> Option<&Field> {
        let texts = || self.read().filter(|field| field.is_text());
        let called =
            texts().find(|field| is_query(field)).or_else(|| texts().find(|field| is_of(field, words::SEARCH)));
        called.or_else(|| texts().next()).or_else(|| self.read().next())
    }

    /// The fields that a person fills in, as far as they are read.
    fn read(&self) -> impl Iterator<Item = &Field> {
        self.visible().take(MAX_FIELDS)
    }

    fn passwords(&self) -> usize {
        self.nameless_passwords + self.secrets().count()
    }

    /// Of a form with a password: is it for somebody new?
    fn registers(&self, own: &str) -> bool {
        let any = |is: &dyn Fn(&Field) -> bool| self.read().any(is);
        let box_of = |field: &Field, words: &str| field.kind == Kind::Checkbox && is_of(field, words);
        let buttons = words::buttons(self);
        let is_name = |field: &Field| field.is_text() && is_user(field) && !is_mail(field);
        let new_secret = |field: &Field| field.autocomplete.contains("new-password");
        let old_secret = |field: &Field| field.autocomplete.contains("current-password");
        let signs = [
            (SECOND_PASSWORD, self.passwords() > 1),
            (SIGN, self.read().filter(|field| field.is_text()).count() > MAX_LOGIN_TEXTS),
            (HINT, any(&|field| is_of(field, words::PERSON))),
            (HINT, self.read().filter(|field| is_of(field, words::PERSON)).count() > 1),
            // Who logs in gives one or the other.
            (HINT, any(&is_mail) && any(&is_name)),
            (SIGN, says(own, words::REGISTRATION)),
            (HINT, says(&buttons, words::REGISTRATION) && !says(&buttons, words::LOGIN)),
            (SIGN, any(&|field| box_of(field, words::TERMS))),
            (SIGN, any(&new_secret)),
            (-SIGN, any(&old_secret)),
            (-SIGN, says(own, words::LOGIN)),
            (-SIGN, any(&|field| box_of(field, words::REMEMBER))),
        ];
        signs.iter().filter(|(_, is_so)| *is_so).map(|(weight, _)| weight).sum::<i32>() >= SIGN
    }

    fn searches(&self, own: &str) -> bool {
        let called = says(own, words::SEARCH);
        let query = self.read().any(is_query);
        let field = self.read().any(|field| is_of(field, words::SEARCH));
        query || called || field
    }
}

/// Do name, id or label of the field say one of these words?
fn is_of(field: &Field, words: &str) -> bool {
    says(&field.said(), words)
}

fn is_mail(field: &Field) -> bool {
    field.is_text() && (field.kind == Kind::Email || is_of(field, words::MAIL))
}

fn is_called_password(field: &Field) -> bool {
    const NAMES: &[&str] =
        &["password", "passwd", "passwort", "pass", "pwd", "mdp", "password2", "contrasena", "senha", "heslo", "haslo"];
    !field.long && NAMES.contains(&field.name.to_lowercase().as_str())
}
