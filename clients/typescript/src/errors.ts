/** What went wrong, as one of four kinds; every one is an `InboxdError`. */
export class InboxdError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service refused the call. `detail` is its own sentence for a person. */
export class ApiError extends InboxdError {
  constructor(
    /** HTTP status: 400, 401, 403, 404, 413, 422, 429, 500, 503. */
    readonly status: number,
    readonly detail: string,
    /** Finds the call in the log of the service; empty when nothing said it. */
    readonly requestId: string,
    /** Seconds that the service asks to wait (429 and 503); undefined: it does not say. */
    readonly retryAfter?: number,
  ) {
    super(`${detail} (HTTP ${status}${requestId && `, request ${requestId}`})`);
  }
}

/** The service was not reached, or the connection broke; `cause` is what the platform says. */
export class ConnectionError extends InboxdError {}

/** A wait or a call took longer than it may. A mail that is waited for may still come: wait again. */
export class TimeoutError extends InboxdError {
  constructor(
    message: string,
    /** Of a wait for a code: the newest message that came without one; undefined: nothing came. */
    readonly messageId?: number,
    /** Of that message. */
    readonly subject?: string,
  ) {
    super(message);
  }
}

/** What answers is not the inbox service: a proxy's page, JSON that is cut, members that are missing. */
export class UnexpectedAnswerError extends InboxdError {
  constructor(
    message: string,
    readonly status: number,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
