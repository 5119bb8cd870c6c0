// A provider as NestJS has it: the container reads from the metadata what the constructor wants, and gives it.

import 'reflect-metadata';
import { NotFoundError, PaymentsClient } from 'payment-collection-client';

function Injectable(): ClassDecorator {
  return () => {};
}

function Returns(): MethodDecorator {
  return (_target, _name, descriptor) => descriptor;
}

@Injectable()
class CheckoutService {
  constructor(private readonly payments: PaymentsClient) {}

  @Returns()
  async begin(amount: string): Promise<string> {
    const { reference } = await this.payments.initialize({ amount, customer_email: 'ama@example.com' });
    return (await this.payments.waitForFinalStatus(reference, { minDelay: 1, maxDelay: 10 })).status;
  }

  @Returns()
  async find(reference: string, fallback: NotFoundError | null = null): Promise<string> {
    return this.payments.verify(reference).then(
      ({ status }) => status,
      (error) => (error instanceof NotFoundError ? 'missing' : String(fallback)),
    );
  }
}

const [baseUrl = '', apiKey = ''] = process.argv.slice(2);
const [Wanted] = Reflect.getMetadata('design:paramtypes', CheckoutService);
const service = new CheckoutService(new Wanted({ baseUrl, apiKey }));

Promise.all([service.begin('25.50'), service.find('TXN-none')]).then((seen) =>
  console.log(JSON.stringify([Wanted === PaymentsClient, ...seen])),
);
