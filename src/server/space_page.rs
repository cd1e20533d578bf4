//! `GET /spaces/{id}`: the page behind the check's "Details".
//!
//! It shows what the check's summary on the forge shows, no more. Its address holds
//! 74 random bits and is told only there, so whoever has it may read the pull request.

use ammonia::clean;
use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderName, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use pulldown_cmark::{Options, Parser, html};

use crate::{
    domain::ids::SpaceId,
    services::{Context, show_space},
};

#[derive(Template)]
#[template(path = "server/space.html")]
struct Page<'a> {
    title: &'a str,
    pull_request: Option<&'a str>,
    head: &'a str,
    standing: &'a str,
    /// HTML that went through the sanitizer.
    summary: String,
}

/// No script, nothing from elsewhere, in no frame, in no index, and the address is
/// not passed on.
const GUARDS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "private, no-store"),
    (HeaderName::from_static("x-robots-tag"), "noindex"),
];

pub(super) async fn show(State(ctx): State<Context>, Path(id): Path<String>) -> Response {
    let view = match show_space::show(&ctx, &SpaceId::new(id)).await {
        Ok(Some(view)) => view,
        Ok(None) => return (StatusCode::NOT_FOUND, GUARDS, "there is no such space\n").into_response(),
        Err(error) => {
            tracing::warn!(%error, "a space could not be shown");
            return (StatusCode::SERVICE_UNAVAILABLE, GUARDS, "try again later\n").into_response();
        }
    };
    let mut unsafe_html = String::new();
    html::push_html(
        &mut unsafe_html,
        Parser::new_ext(&view.summary, Options::ENABLE_TABLES),
    );
    let page = Page {
        title: &view.title,
        pull_request: view
            .pull_request
            .starts_with("http")
            .then_some(&*view.pull_request),
        head: view.head.short(),
        standing: &view.standing,
        summary: clean(&unsafe_html),
    };
    match page.render() {
        Ok(page) => (GUARDS, Html(page)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
