import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Shop } from '../shop/shop.ts';
import { Settings, SettingsModule } from './settings.module.ts';

/** Makes the shop from your configuration, and closes it with the application. Inject `Shop` into your controllers. */
@Module({
  imports: [SettingsModule],
  providers: [
    {
      provide: Shop,
      inject: [Settings],
      useFactory: ({ baseUrl, apiKey }: Settings) => new Shop({ baseUrl, apiKey }),
    },
  ],
  exports: [Shop],
})
export class PaymentsModule implements OnApplicationShutdown {
  readonly #shop: Shop;

  constructor(shop: Shop) {
    this.#shop = shop;
  }

  /** Nest has ended the requests by then. */
  async onApplicationShutdown(): Promise<void> {
    await this.#shop.close();
  }
}
