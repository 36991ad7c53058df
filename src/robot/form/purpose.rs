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

impl Form {
    pub fn purpose(&self) -> Purpose {
        let own = words::own(self);
        if self.passwords() > 0 {
            return if self.registers(&own) { Purpose::Registration } else { Purpose::Login };
        }
        let texts = self.visible().filter(|field| field.is_text()).count();
        let mail = self.visible().any(is_mail);
        let recovers = says(&own, words::RECOVERY) || says(&self.text, words::FORGOTTEN);
        if self.visible().any(|field| field.long) {
            return if says(&own, words::SEARCH) && !mail { Purpose::Search } else { Purpose::Contact };
        }
        if self.searches(&own) && !mail {
            return Purpose::Search;
        }
        if texts == 0 {
            return if says(&own, words::REGISTRATION) { Purpose::Registration } else { Purpose::Other };
        }
        if self.visible().filter(|field| is_of(field, words::ADDRESS)).count() >= ORDER_PARTS {
            return Purpose::Order;
        }
        let user = self.visible().any(is_user);
        match () {
            () if says(&own, words::LETTER) && mail => Purpose::MailingList,
            () if recovers && user && texts <= MAX_LOGIN_TEXTS => Purpose::Recovery,
            () if says(&own, words::REGISTRATION) && user => Purpose::Registration,
            () if says(&own, words::LOGIN) && user && texts <= MAX_LOGIN_TEXTS => Purpose::Login,
            () if says(&self.text, words::LETTER) && mail => Purpose::MailingList,
            () if self.visible().filter(|field| is_mail(field)).count() > 1 => Purpose::Contact,
            () if mail && texts <= MAX_LETTER_TEXTS => Purpose::MailingList,
            () if says(&self.text, words::SEARCH) && !mail => Purpose::Search,
            () => Purpose::Other,
        }
    }

    /// Where the user's name goes: the text before the password that is called so, or else the nearest one before it.
    pub fn username(&self) -> Option<&Field> {
        let before = self.fields.iter().position(|field| field.kind == Kind::Password).unwrap_or(self.fields.len());
        let (before, after) = self.fields.split_at(before);
        let asked = |field: &&Field| field.is_text() && !is_of(field, words::NO_NAME);
        let called = before.iter().rev().filter(asked).find(|field| is_user(field));
        called
            .or_else(|| before.iter().rfind(asked))
            .or_else(|| after.iter().filter(asked).find(|field| is_user(field)))
    }

    pub fn password(&self) -> Option<&Field> {
        self.fields.iter().find(|field| field.kind == Kind::Password)
    }

    /// Where the words searched for go.
    pub fn query(&self) -> Option<&Field> {
        let texts = || self.visible().filter(|field| field.is_text());
        let called =
            texts().find(|field| is_query(field)).or_else(|| texts().find(|field| is_of(field, words::SEARCH)));
        called.or_else(|| texts().next()).or_else(|| self.visible().next())
    }

    fn passwords(&self) -> usize {
        self.nameless_passwords + self.fields.iter().filter(|field| field.kind == Kind::Password).count()
    }

    /// Of a form with a password: is it for somebody new?
    fn registers(&self, own: &str) -> bool {
        let texts = self.visible().filter(|field| field.is_text()).count();
        let person = self.visible().filter(|field| is_of(field, words::PERSON)).count();
        let mut signs = 0;
        if self.passwords() > 1 {
            signs += 3;
        }
        if texts > MAX_LOGIN_TEXTS {
            signs += 2;
        }
        signs += i32::try_from(person.min(2)).unwrap_or(2);
        if says(own, words::REGISTRATION) {
            signs += 2;
        }
        if self.visible().any(|field| field.kind == Kind::Checkbox && is_of(field, words::TERMS)) {
            signs += 2;
        }
        if says(own, words::LOGIN) {
            signs -= 2;
        }
        if self.visible().any(|field| field.kind == Kind::Checkbox && is_of(field, words::REMEMBER)) {
            signs -= 2;
        }
        signs >= 2
    }

    fn searches(&self, own: &str) -> bool {
        let called = says(own, words::SEARCH);
        let query = self.visible().any(is_query);
        let field = self.visible().any(|field| is_of(field, words::SEARCH));
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
