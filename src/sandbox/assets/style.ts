import { baseStyle } from './styles/base.ts';
import { checkoutStyle } from './styles/checkout.ts';
import { dashboardStyle } from './styles/dashboard.ts';
import { phoneStyle } from './styles/phone.ts';

export const style = [baseStyle, checkoutStyle, phoneStyle, dashboardStyle].join('\n');
