import { Body, Controller, Get, HttpCode, Param, Post, UseFilters } from '@nestjs/common';
import { findReferences, readEmail } from '../shop/parse-request.ts';
import { CheckoutService } from './checkout.service.ts';
import { PaymentsErrorFilter } from './payments-error.filter.ts';

@Controller()
@UseFilters(PaymentsErrorFilter)
export class CheckoutController {
  readonly #checkout: CheckoutService;

  constructor(checkout: CheckoutService) {
    this.#checkout = checkout;
  }

  @Post('orders')
  place() {
    const { id, item, amount, currency } = this.#checkout.place();
    return { id, item, amount, currency };
  }

  /** The browser then goes to `checkout_url`. */
  @Post('orders/:id/payment')
  pay(@Param('id') id: string, @Body() body: unknown) {
    return this.#checkout.pay(id, readEmail(body));
  }

  /** The page to which the customer returns polls this until the state is not `paying`. */
  @Get('orders/:id/payment')
  async check(@Param('id') id: string) {
    const { state } = await this.#checkout.check(id);
    return { state };
  }

  @Post('webhooks/payments')
  @HttpCode(204)
  notify(@Body() body: unknown): void {
    for (const reference of findReferences(JSON.stringify(body))) this.#checkout.notify(reference);
  }
}
