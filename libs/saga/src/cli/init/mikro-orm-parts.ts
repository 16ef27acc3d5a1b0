import type { DatabaseParts } from './layer-parts.js';
import type { NestApp } from './nest-app.js';

/** The first version of Node that MikroORM 7 runs on. */
const NODE_OF_7 = [22, 17] as const;

/** The major version of MikroORM that is installed, or that is to be installed. */
export function mikroOrmMajor(app: NestApp): number {
  const installed = app.installed('@mikro-orm/core');
  if (installed !== undefined) return Number.parseInt(installed, 10);
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > NODE_OF_7[0] || (major === NODE_OF_7[0] && minor >= NODE_OF_7[1]) ? 7 : 6;
}

/** MikroORM 7 does not show its pool at once. */
const POOL_OF_7 = `db.em.getConnection().getNativeClient()`;

export function mikroOrmParts(app: NestApp): DatabaseParts {
  return {
    imports: [
      ['{ type EntityManager, MikroORM }', '@mikro-orm/postgresql'],
      ['{ mikroOrmDatabase }', 'nestjs-durable-saga/mikro-orm'],
    ],
    ...{ database: 'MikroORM', transaction: 'EntityManager', connectsLater: true },
    connect: `MikroORM.init({
    clientUrl: url,
    // The entities of the application.
    entities: [],
    discovery: { warnWhenNoEntities: false },
    // MikroORM's schema tools would drop the tables of sagas.
    schemaGenerator: { ignoreSchema: ['saga'] },
  })`,
    adapter: mikroOrmMajor(app) < 7 ? 'mikroOrmDatabase(db)' : `mikroOrmDatabase(db, await ${POOL_OF_7})`,
    end: 'this.db.close()',
  };
}
