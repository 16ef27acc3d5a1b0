// One measurement in a process of its own: node measure.mjs plain|relay rabbitmq|jetstream <name> <count>.
// Prints seconds.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaMessagingModule } from 'nestjs-durable-saga-messaging';
import pg from 'pg';
import { messageOf } from './load.mjs';

/** The number of messages that a plain client has in flight. */
const WINDOW = 1_000;

const [way, brokerName, name, countText] = process.argv.slice(2);
const count = Number(countText);
const broker = await import(`./${brokerName}.mjs`);

async function plain() {
  const client = await broker.plainClient(name);
  await client.send(randomUUID(), 'warm', { orderId: 'warm', number: 0 });
  const started = performance.now();
  let next = 0;
  const sender = async () => {
    while (next < count) {
      const { key, payload } = messageOf(next++);
      await client.send(randomUUID(), key, payload);
    }
  };
  await Promise.all(Array.from({ length: WINDOW }, sender));
  const seconds = (performance.now() - started) / 1_000;
  await client.close();
  return seconds;
}

async function relay() {
  const sql = new pg.Client({ connectionString: process.env.PGURL });
  await sql.connect();
  const module = class {};
  Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: process.env.PGURL }),
      SagaMessagingModule.forRoot(broker.messagingOptions(name)),
    ],
  })(module);
  const app = await NestFactory.createApplicationContext(module, { logger: ['warn', 'error'] });
  const started = performance.now();
  // Until it is empty: one look at an index, ten times a second.
  for (;;) {
    const { rows } = await sql.query('SELECT EXISTS (SELECT FROM saga.outbox) AS more');
    if (!rows[0].more) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const seconds = (performance.now() - started) / 1_000;
  await app.close();
  await sql.end();
  return seconds;
}

console.log(`SECONDS ${await (way === 'plain' ? plain() : relay())}`);
process.exit(0);
