import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { handsLocksOver, startsTwiceAtOnce } from './isolation-levels.js';
import { leadsForwardAfterThePivot } from './pivot.js';
import { refusesUnknownOptions } from './unknown-options.js';
import { keepsTheOrderOfAKey } from './order-per-key.js';
import { loadedVersions } from './loaded-versions.js';
import { findsEveryProviderAlive, waitsForTheApplication } from './provider-lifetimes.js';

/** Each promise with the program that tries it on a database of its own settings, through the package alone. */
const PROMISES: Record<string, (url: string) => Promise<void>> = {
  'messages of a key arrive in the order of their transactions': keepsTheOrderOfAKey,
  'two processes start at once under each isolation level': startsTwiceAtOnce,
  'locks are handed over under each isolation level': handsLocksOver,
  'a running step finds every provider alive at shutdown': findsEveryProviderAlive,
  'no saga runs before the application has started': waitsForTheApplication,
  'an unknown option is refused by name, and nothing is done': refusesUnknownOptions,
  'a pivot that completes leads forward': leadsForwardAfterThePivot,
};

async function main(): Promise<void> {
  const url = process.env.DATABASE_URL!;
  const broken: string[] = [];
  for (const [promise, keep] of Object.entries(PROMISES)) {
    await emptied(url);
    await keep(url).catch((error: Error) => broken.push(`${promise}: ${error.stack}`));
  }
  if (broken.length > 0) throw new Error(`${broken.length} promises are broken:\n${broken.join('\n\n')}`);
  console.log(JSON.stringify(await versions(url)));
}

/** Without the tables of the promise before, and with PostgreSQL's own settings. */
async function emptied(url: string): Promise<void> {
  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  const [{ name }] = await dataSource.query<[{ name: string }]>('SELECT current_database() AS name');
  await dataSource.query(`ALTER DATABASE "${name}" RESET default_transaction_isolation`);
  await dataSource.query('DROP SCHEMA IF EXISTS saga CASCADE');
  await dataSource.destroy();
}

async function versions(url: string): Promise<Record<string, string>> {
  const module = {
    module: class LookingModule {},
    imports: [TypeOrmModule.forRoot({ type: 'postgres', url }), SagaModule.forRoot()],
  };
  const app = await NestFactory.createApplicationContext(module, { logger: ['error'] });
  const loaded = await loadedVersions(app.get(DataSource));
  await app.close();
  return loaded;
}

void main();
