import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { PaymentsError } from 'payment-collection-client';
import { answerTo } from '../shop/answers.ts';

/** One answer for each outcome, for every controller. No error of the package holds a key, a phone or an email. */
@Catch(PaymentsError)
export class PaymentsErrorFilter implements ExceptionFilter<PaymentsError> {
  readonly #logger = new Logger('Payments');

  catch(error: PaymentsError, host: ArgumentsHost): void {
    const { status, headers, message, fields } = answerTo(error);
    this.#logger.warn(`${error.name}: ${error.message}`);
    const response = host.switchToHttp().getResponse<Response>();
    response.status(status).set(headers).json({ outcome: error.outcome, message, fields });
  }
}
