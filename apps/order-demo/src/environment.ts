import { parseArgs } from 'node:util';
import type { Duration } from 'nestjs-durable-saga';
import { ORM_NAMES, type OrmName } from './orm/orm.js';

/** The environment of this application's processes, read once and validated. */
export interface Environment {
  /** The server to use; undefined: one is brought along (see database/database-server.ts). */
  readonly databaseUrl?: string;
  /** 0: any free port. */
  readonly port: number;
  /** Does this process run sagas, or only start and show them? */
  readonly worker: boolean;
  /** How long a worker's silence is taken for its death. */
  readonly lease: Duration;
  /** The database layer of orders and their sagas. */
  readonly orm: OrmName;
  /** What keeps the sagas. */
  readonly engine: 'postgres' | 'restate';
  /** Where Restate is, and where it reaches this process. */
  readonly restate: {
    readonly ingress: string;
    readonly admin: string;
    readonly port: number;
    readonly address?: string;
  };
  /** The nodes of Restate that the demo starts. */
  readonly nodes: number;
  /** Attempts of a compensation before the saga is stuck and waits for an operator. */
  readonly compensationAttempts: number;
}

/** @throws Error naming every variable that is wrong, with the fix */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): Environment {
  const problems: string[] = [];
  const whole = (name: string, fallback: number, [least, most]: [number, number]): number => {
    const value = Number(env[name] || fallback);
    if (!Number.isInteger(value) || value < least || value > most) {
      problems.push(`${name} is '${env[name]}'; give a whole number from ${least} to ${most}`);
    }
    return value;
  };
  const worker = env.SAGA_WORKER || 'on';
  if (worker !== 'on' && worker !== 'off') problems.push(`SAGA_WORKER is '${worker}'; give on or off`);
  const orm = ORM_NAMES.find((name) => name === (env.SAGA_ORM || 'typeorm'));
  if (!orm) problems.push(`SAGA_ORM (or --orm) is '${env.SAGA_ORM}'; give ${ORM_NAMES.join(', ')}`);
  const engine = env.SAGA_ENGINE || 'postgres';
  if (engine !== 'postgres' && engine !== 'restate')
    problems.push(`SAGA_ENGINE (or --engine) is '${engine}'; give postgres or restate`);
  const nodes = whole('RESTATE_NODES', 1, [1, 3]);
  if (nodes === 2) problems.push(`RESTATE_NODES (or --nodes) is 2; give 1, or 3 for a cluster`);
  if (nodes > 1 && engine !== 'restate') problems.push(`--nodes is ${nodes}; give --engine=restate with it`);
  const environment = {
    databaseUrl: env.DATABASE_URL || undefined,
    port: whole('PORT', 3000, [0, 65_535]),
    worker: worker === 'on',
    orm: orm!,
    engine: engine as Environment['engine'],
    nodes,
    restate: {
      ingress: env.RESTATE_INGRESS || 'http://localhost:8080',
      admin: env.RESTATE_ADMIN || 'http://localhost:9070',
      port: whole('RESTATE_PORT', 9080, [0, 65_535]),
      address: env.RESTATE_ADDRESS || undefined,
    },
    // SagaModule checks it.
    lease: (env.SAGA_LEASE || '30s') as Duration,
    compensationAttempts: whole('SAGA_COMPENSATION_ATTEMPTS', 10, [1, 1_000]),
  };
  if (problems.length > 0) throw new Error(`${problems.join('. ')}.`);
  return environment;
}

/** The options of the command line, and the variables that they set. */
const OPTIONS = { orm: 'SAGA_ORM', engine: 'SAGA_ENGINE', nodes: 'RESTATE_NODES' } as const;

/**
 * Reads options such as `--orm=drizzle` of the command line into variables, which the processes of the demo inherit.
 * @throws TypeError for an unknown option, which it names
 */
export function readArguments(args: readonly string[] = process.argv.slice(2)): void {
  const type = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { orm: type, engine: type, nodes: type } satisfies Record<keyof typeof OPTIONS, object>,
    allowPositionals: true,
  });
  for (const [option, variable] of Object.entries(OPTIONS)) {
    const value = values[option as keyof typeof OPTIONS];
    if (value !== undefined) process.env[variable] = value;
  }
}
