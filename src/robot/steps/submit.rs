//! `submit`: fills and sends a form of the current page.

use std::collections::BTreeMap;

use super::super::WalkError;
use super::super::request::SecretNames;
use super::super::walker::Walker;
use super::form_request::{form_request, no_form};
use super::visit;
use crate::model::Failure;
use crate::model::script::SubmitStep;
use crate::page::form::{self, SubmitButton};

pub async fn submit(walker: &mut Walker<'_>, step: &SubmitStep, strict: bool) -> Result<(), WalkError> {
    walker.return_browser_to_page().await?;
    let wanted = walker.expand(&step.form)?;
    let (mut values, mut secrets) = (BTreeMap::new(), SecretNames::new());
    for (name, value) in &step.fields {
        values.insert(walker.expand_into(name, &mut secrets)?, walker.expand_into(value, &mut secrets)?);
    }
    let button = step.button.as_deref().map(|button| walker.expand(button)).transpose()?;
    let here = walker.current_page()?;
    let Some(found) = form::find(&here.tree, &wanted) else {
        return Err(walker.error(Failure::Robot, no_form(&wanted, &form::find_all(&here.tree))));
    };
    walker.trace(format!("fills the form “{}”", found.describe()));
    let press = button.as_deref().map_or(SubmitButton::First, SubmitButton::Named);
    let request = form_request(walker, &found, &values, &secrets, press)?;
    visit::go(walker, request, strict).await
}
