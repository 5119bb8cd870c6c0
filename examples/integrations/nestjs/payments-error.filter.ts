import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { PaymentsError } from 'payment-collection-client';
import { toErrorResponse } from '../shop/error-response.ts';

/** Sends one response for each outcome, for every controller. No error of the package contains a key, phone or email. */
@Catch(PaymentsError)
export class PaymentsErrorFilter implements ExceptionFilter<PaymentsError> {
  readonly #logger = new Logger('Payments');

  catch(error: PaymentsError, host: ArgumentsHost): void {
    const { status, headers, message, fields } = toErrorResponse(error);
    this.#logger.warn(`${error.name}: ${error.message}`);
    const response = host.switchToHttp().getResponse<Response>();
    response.status(status).set(headers).json({ outcome: error.outcome, message, fields });
  }
}
