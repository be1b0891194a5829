package fault

// Code says to a program what went wrong. It is finer than a kind where programs act differently.
type Code string

// The codes: every error response has one of these and no other (ADR 0119). They are part of the
// API: never rename one. The contract and docs/specification.md describe each.
const (
	CodeValidation            Code = "validation"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeBadRequest            Code = "bad_request"
	CodeUnauthorized          Code = "unauthorized"
	CodeWrongPassword         Code = "wrong_password"
	CodeForbidden             Code = "forbidden"
	CodeScopeMissing          Code = "scope_missing"
	CodeCredentialNotAccepted Code = "credential_not_accepted"
	CodeNoInbox               Code = "no_inbox"
	CodeNotFound              Code = "not_found"
	CodeUnknownPath           Code = "unknown_path"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodeRefused               Code = "refused"
	CodePlanLimit             Code = "plan_limit"
	CodeLimitReached          Code = "limit_reached"
	CodeInboxFull             Code = "inbox_full"
	CodeAddressTaken          Code = "address_taken"
	CodeAlreadyExists         Code = "already_exists"
	CodeInUse                 Code = "in_use"
	CodeConflict              Code = "conflict"
	CodeAccountNotVerified    Code = "account_not_verified"
	CodeDomainNotVerified     Code = "domain_not_verified"
	CodeRecipientSuppressed   Code = "recipient_suppressed"
	CodeLinkInvalid           Code = "link_invalid"
	CodeAttachmentNotStored   Code = "attachment_not_stored"
	CodeTooLarge              Code = "too_large"
	CodeUnsupportedContent    Code = "unsupported_content"
	CodeRequestTimeout        Code = "request_timeout"
	CodeRateLimited           Code = "rate_limited"
	CodeUnavailable           Code = "unavailable"
	CodeStorageFull           Code = "storage_full"
	CodeDataDamaged           Code = "data_damaged"
	CodeInternal              Code = "internal"
)
