import type { OperationName } from './contract/operation.ts';
import { bodyProperty, brand, cutBodyWhenInspected, type Outcome, PaymentsError } from './errors.ts';

/** A fault that the service named for one field. */
export interface FieldError {
  field: string;
  message: string;
}

export interface APIErrorFacts {
  operation: OperationName;
  outcome: Outcome | null;
  retryable: boolean;
  status: number;
  body: unknown;
  serviceMessage: string | undefined;
  fieldErrors: readonly FieldError[];
  requestId: string | undefined;
  retryAfter: number | undefined;
}

/**
 * The service answered with an error, or with `status: false`. SPEC.md, 7, shows no error shape and no status codes,
 * so everything about the body is best effort. A subclass stands for each status that has a name.
 */
export class APIError extends PaymentsError {
  declare readonly name: string;
  /** The HTTP status code. */
  readonly status: number;
  /**
   * The body, parsed if it is JSON, else text; shortened, with key, phone numbers and emails redacted. Where a long one
   * is printed, only its start is shown.
   */
  readonly body: unknown;
  /** The service's own words, where it gave any. */
  readonly serviceMessage: string | undefined;
  /** What the service said about single fields, where it did. */
  readonly fieldErrors: readonly FieldError[];
  /** How long the service asked to wait before the next request, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(message: string, facts: APIErrorFacts) {
    super(message, facts);
    this.status = facts.status;
    Object.defineProperty(this, 'body', bodyProperty(facts.body));
    this.serviceMessage = facts.serviceMessage;
    this.fieldErrors = facts.fieldErrors;
    this.retryAfter = facts.retryAfter;
  }

  static {
    brand(this, 'APIError', 'api_error');
    cutBodyWhenInspected(this);
  }
}

/** 400 or 422: the service refuses what was asked. */
export class InvalidRequestError extends APIError {
  declare readonly name: 'InvalidRequestError';
  declare readonly code: 'invalid_request';
  static {
    brand(this, 'InvalidRequestError', 'invalid_request');
  }
}

/** 401: the API key is missing, wrong or revoked. */
export class AuthenticationError extends APIError {
  declare readonly name: 'AuthenticationError';
  declare readonly code: 'authentication_error';
  static {
    brand(this, 'AuthenticationError', 'authentication_error');
  }
}

/** 403: the API key may not do this. */
export class PermissionError extends APIError {
  declare readonly name: 'PermissionError';
  declare readonly code: 'permission_denied';
  static {
    brand(this, 'PermissionError', 'permission_denied');
  }
}

/** 404: there is no such transaction, or no such address. */
export class NotFoundError extends APIError {
  declare readonly name: 'NotFoundError';
  declare readonly code: 'not_found';
  static {
    brand(this, 'NotFoundError', 'not_found');
  }
}

/** 409: the request contradicts something that the service holds. */
export class ConflictError extends APIError {
  declare readonly name: 'ConflictError';
  declare readonly code: 'conflict';
  static {
    brand(this, 'ConflictError', 'conflict');
  }
}

/** 429: too many requests. `retryAfter` is set where the service said how long to wait. */
export class RateLimitError extends APIError {
  declare readonly name: 'RateLimitError';
  declare readonly code: 'rate_limited';
  static {
    brand(this, 'RateLimitError', 'rate_limited');
  }
}

/** 5xx on a read. On a POST it is the `cause` of an `OutcomeUnknownError`: a charge may exist. */
export class ServerError extends APIError {
  declare readonly name: 'ServerError';
  declare readonly code: 'server_error';
  static {
    brand(this, 'ServerError', 'server_error');
  }
}

/** The class for an HTTP status code. */
export function apiErrorClass(status: number): typeof APIError {
  if (status >= 500) return ServerError;
  switch (status) {
    case 400:
    case 422:
      return InvalidRequestError;
    case 401:
      return AuthenticationError;
    case 403:
      return PermissionError;
    case 404:
      return NotFoundError;
    case 409:
      return ConflictError;
    case 429:
      return RateLimitError;
    default:
      return APIError;
  }
}
