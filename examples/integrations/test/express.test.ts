import { createApp } from '../express/app.ts';
import { checkoutScenarios } from './checkout-scenarios.ts';
import { listening } from './listening.ts';

checkoutScenarios('The Express checkout', (shop) => listening(createApp(shop)));
