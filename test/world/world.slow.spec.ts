import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { INestApplicationContext } from '@nestjs/common';
import { SagaModule, SagaOperations, SagaSchedules, SagaService } from '../../libs/saga/src/index.js';
import { Inbox, Outbox, SagaMessagingModule } from '../../libs/messaging/src/index.js';
import { MemoryBroker } from '../messaging/support/memory-broker.js';
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.mjs';
import { createTestDatabase } from '../support/test-database.js';
import { playProgram, type WorldProcess } from './program.js';
import { SAGAS } from './sagas.js';
import { WORLD, type WorldRow } from './settings.js';

/** Two processes' worth of an application over this database; both begin at once, so both migrate. */
async function play(url: string, { poolSize = 10, callerPoolSize }: WorldRow): Promise<void> {
  const broker = new MemoryBroker();
  const options = { logger: process.env.SAGA_LOG ? undefined : (false as const), abortOnError: false };
  const worker = { lease: '6s', pollInterval: '200ms' } as const;
  const moduleOf = (connections = poolSize, caller = false) => ({
    module: class WorldModule {},
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: connections, retryAttempts: 0 }),
      SagaModule.forRoot({ worker: caller ? false : worker }),
      SagaMessagingModule.forRoot({ transport: broker, relay: { pollInterval: '200ms' } }),
    ],
    providers: SAGAS,
  });
  const started = await Promise.allSettled(
    [moduleOf(callerPoolSize, callerPoolSize !== undefined), moduleOf()].map((module) =>
      NestFactory.createApplicationContext(module, options),
    ),
  );
  const applications = started.flatMap((start) => (start.status === 'fulfilled' ? start.value : []));
  try {
    for (const start of started) if (start.status === 'rejected') throw start.reason;
    await playProgram({ processes: applications.map(processOf), sent: broker.taken });
  } finally {
    await Promise.all(applications.map((application) => application.close()));
  }
}

const processOf = (nest: INestApplicationContext): WorldProcess => ({
  sagas: nest.get(SagaService, { strict: false }),
  operations: nest.get(SagaOperations, { strict: false }),
  schedules: nest.get(SagaSchedules, { strict: false }),
  dataSource: nest.get(DataSource, { strict: false }),
  outbox: nest.get(Outbox, { strict: false }),
  inbox: nest.get(Inbox, { strict: false }),
});

async function alterDatabase(url: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const [name, value] of Object.entries(settings))
    await client.query(
      `ALTER DATABASE ${client.escapeIdentifier(client.database!)} SET ${name} = ${pg.escapeLiteral(value)}`,
    );
  await client.end();
}

/** For as long as it takes. */
async function withParsers(parsers: WorldRow['parsers'] = {}, work: () => Promise<void>): Promise<void> {
  const given = Object.entries(parsers).map(([type, parse]) => [Number(type), parse] as const);
  const before = given.map(([type]) => pg.types.getTypeParser(type) as (text: string) => unknown);
  for (const [type, parse] of given) pg.types.setTypeParser(type, parse);
  try {
    await work();
  } finally {
    given.forEach(([type], n) => pg.types.setTypeParser(type, before[n]!));
  }
}

const pgbouncer = findPgbouncer();

describe('the program of all kinds of sagas runs, or is refused at start-up with the reason, under', () => {
  for (const row of WORLD) {
    (row.pooler && !pgbouncer ? test.skip : test)(`${row.name}`, async () => {
      const database = await createTestDatabase();
      try {
        await alterDatabase(database.url, row.settings ?? {});
        const pooler = row.pooler && (await startPgbouncer(pgbouncer!, database.url, row.pooler));
        try {
          await withParsers(row.parsers, async () => {
            const played = play(pooler?.url ?? database.url, row);
            if (row.refused) await expect(played).rejects.toThrow(row.refused);
            else await played;
          });
        } finally {
          await pooler?.stop();
        }
      } finally {
        await database.drop();
      }
    });
  }
});
