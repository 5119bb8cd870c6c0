import { ConfigurableModuleBuilder, Module, type OnModuleDestroy } from '@nestjs/common';
import { PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<PaymentsClientOptions>().setClassMethodName('forRoot').build();

/**
 * `PaymentsModule.forRoot(options)`, or `forRootAsync({ inject, useFactory })` if the options come from another
 * provider. Inject `PaymentsClient` into your services.
 */
@Module({
  providers: [
    {
      provide: PaymentsClient,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: PaymentsClientOptions) => new PaymentsClient(options),
    },
  ],
  exports: [PaymentsClient],
})
export class PaymentsModule extends ConfigurableModuleClass implements OnModuleDestroy {
  readonly #payments: PaymentsClient;

  constructor(payments: PaymentsClient) {
    super();
    this.#payments = payments;
  }

  /** Ends every wait, so that the process can end. */
  onModuleDestroy(): void {
    this.#payments.close();
  }
}
