//! The login of a walk, kept to repeat it when the session expires.

use url::Url;

use crate::model::script::LoginStep;

/// The login that was made.
#[derive(Clone)]
pub struct LoginState {
    pub step: LoginStep,
    /// The page with the form.
    pub login_url: Option<Url>,
    /// One logout may be an expired session; a second one is an error.
    pub has_logged_in_again: bool,
    /// Set during the login: its own pages must not trigger another one.
    pub in_progress: bool,
}
