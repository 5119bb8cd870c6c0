import { Module } from '@nestjs/common';
import { CheckoutController } from './checkout.controller.ts';
import { PaymentsModule } from './payments.module.ts';

@Module({ imports: [PaymentsModule], controllers: [CheckoutController] })
export class AppModule {}
