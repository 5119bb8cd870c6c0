import { Module } from '@nestjs/common';
import { memoryJournal } from 'payment-collection-client/journal';
import { Orders } from '../shop/orders.ts';
import { CheckoutController } from './checkout.controller.ts';
import { CheckoutService } from './checkout.service.ts';
import { PaymentsModule } from './payments.module.ts';
import { Settings, SettingsModule } from './settings.module.ts';

@Module({
  imports: [
    PaymentsModule.forRootAsync({
      imports: [SettingsModule],
      inject: [Settings],
      // This journal is in memory and ends with the process. Use one on your database.
      useFactory: ({ baseUrl, apiKey }: Settings) => ({ baseUrl, apiKey, journal: memoryJournal() }),
    }),
  ],
  controllers: [CheckoutController],
  providers: [CheckoutService, { provide: Orders, useFactory: () => new Orders() }],
})
export class AppModule {}
