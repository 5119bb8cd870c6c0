import { createApp } from '../express/app.ts';
import { describeCheckout } from './checkout-scenarios.ts';
import { listen } from './listen.ts';

describeCheckout('The Express checkout', (shop) => listen(createApp(shop)));
