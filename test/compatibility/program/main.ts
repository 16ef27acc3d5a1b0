import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module.js';
import { loadedVersions } from './loaded-versions.js';
import * as promises from './promises.js';

/** An application as users write it, and what it promises; tells the versions that it runs on, and ends by itself. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  await promises.itCompletes(app);
  await promises.itTurnsBack(app);
  await promises.itStartsOnce(app);
  await promises.itWaits(app);
  const versions = await loadedVersions(app.get(DataSource));
  const id = await promises.itLetsTheStepEnd(app);

  const next = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  await promises.itGoesOnElsewhere(next, id);
  await next.close();
  console.log(JSON.stringify(versions));
}

void main();
