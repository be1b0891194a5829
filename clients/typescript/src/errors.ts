import type { ArrivedMessage, ErrorCode } from "./types.js";

/** The base class of all errors of this package. */
export class InboxdError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service refused the call. `detail` is its own explanation, and `code` is for programs. */
export class ApiError extends InboxdError {
  constructor(
    /** HTTP status: 400, 401, 403, 404, 413, 422, 429, 500, 503. */
    readonly status: number,
    readonly detail: string,
    /** Identifies the call in the log of the service; empty if not given. */
    readonly requestId: string,
    /** Seconds that the service asks to wait (429 and 503); undefined: not given. */
    readonly retryAfter?: number,
    /** What went wrong, such as `plan_limit`. A later version of the service may add codes. */
    readonly code: ErrorCode | (string & {}) = "",
    /** The member of the body, query parameter or header field that caused the error; undefined: none. */
    readonly field?: string,
  ) {
    super(`${detail} (HTTP ${status}${requestId && `, request ${requestId}`})`);
  }
}

/** The service could not be reached, or the connection broke; `cause` is the error of the platform. */
export class ConnectionError extends InboxdError {}

/** A wait or a call took too long. A message may still arrive after a wait: wait again. */
export class TimeoutError extends InboxdError {
  constructor(
    message: string,
    /** For a wait for a code: the newest message without a code; undefined: there is none. */
    readonly messageId?: number,
    /** The subject of that message. */
    readonly subject?: string,
    /** For a wait for a code: what did arrive, newest first, at most 10. */
    readonly arrived: ArrivedMessage[] = [],
  ) {
    super(message);
  }
}

/** The response is not from the inbox service: a proxy's page, truncated JSON, or missing fields. */
export class UnexpectedAnswerError extends InboxdError {
  constructor(
    message: string,
    readonly status: number,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
