import { Injectable, Module } from '@nestjs/common';

/** The base URL and the key, from your configuration. */
@Injectable()
export class Settings {
  readonly baseUrl: string | undefined = process.env.PAYMENTS_BASE_URL;
  readonly apiKey: string | undefined = process.env.PAYMENTS_API_KEY;
}

@Module({ providers: [Settings], exports: [Settings] })
export class SettingsModule {}
