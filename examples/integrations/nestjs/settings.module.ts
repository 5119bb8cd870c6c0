import { Injectable, Module } from '@nestjs/common';

/** Where the service is, and with which key: from your own configuration. */
@Injectable()
export class Settings {
  readonly baseUrl: string | undefined = process.env.PAYMENTS_BASE_URL;
  readonly apiKey: string | undefined = process.env.PAYMENTS_API_KEY;
}

@Module({ providers: [Settings], exports: [Settings] })
export class SettingsModule {}
