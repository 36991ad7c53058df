//! One labelling session, used by the terminal and the browser. [`page`] is pure: it turns a page and a person's help
//! into candidate lists. [`task`] reads the store and writes the task's folder.

pub mod page;
pub mod task;
