import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.ts';

const app = await NestFactory.create(AppModule);
// Without it, SIGTERM ends the process with no onApplicationShutdown.
app.enableShutdownHooks();
await app.listen(process.env.PORT ?? 3000);
