//! A "no" in GitHub's shape.

use serde_json::{Value, json};

/// Why a request was refused, in GitHub's words.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// GitHub's `message`.
    pub message: String,
    /// GitHub's `errors`, when it gives them.
    pub errors: Option<Value>,
    /// Headers beside it, such as `location` or `retry-after`.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.message)?;
        self.errors.as_ref().map_or(Ok(()), |e| write!(f, " {e}"))
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: None,
            headers: Vec::new(),
        }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(403, "Resource not accessible by integration")
    }

    /// 422 with plain sentences, as the review endpoints answer.
    pub(crate) fn unprocessable(errors: &[String]) -> Self {
        Self {
            errors: Some(json!(errors)),
            ..Self::new(422, "Unprocessable Entity")
        }
    }

    /// 422 with a named field.
    pub(crate) fn invalid(resource: &str, field: &str, message: &str) -> Self {
        let error = json!({"resource": resource, "code": "custom", "field": field, "message": message});
        Self {
            errors: Some(json!([error])),
            ..Self::new(422, "Validation Failed")
        }
    }

    /// 422 of GitHub's parameter check.
    pub(crate) fn request(problem: &str) -> Self {
        Self::new(422, format!("Invalid request.\n\n{problem}"))
    }

    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.to_string(),
        });
        if let Some(errors) = &self.errors {
            body["errors"] = errors.clone();
        }
        body
    }
}

impl From<crate::emulator::git::GitFault> for Refusal {
    /// A fault of the emulator itself, not of the caller.
    fn from(fault: crate::emulator::git::GitFault) -> Self {
        Self::new(500, fault.to_string())
    }
}
