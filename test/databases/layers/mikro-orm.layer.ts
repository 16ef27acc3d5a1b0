import { EntitySchema, MikroORM, type SqlEntityManager } from '@mikro-orm/postgresql';
import { mikroOrmDatabase } from '../../../libs/saga/src/databases/mikro-orm/index.js';
import { failing, type LayerSubject, READ_ONLY } from './layer.js';

interface EffectRow {
  what: string;
}

export const EFFECT = new EntitySchema<EffectRow>({
  name: 'Effect',
  tableName: 'effect',
  properties: { what: { type: 'text', primary: true } },
});

export const MIKRO_ORM: LayerSubject<SqlEntityManager> = {
  name: 'MikroORM',
  open: async (url, connections = 10) => {
    const orm = await MikroORM.init({
      ...{ clientUrl: url, entities: [EFFECT], pool: { min: 0, max: connections } },
      discovery: { disableDynamicFileAccess: true },
      schemaGenerator: { ignoreSchema: ['saga'] },
    });
    return {
      database: mikroOrmDatabase(orm),
      source: orm.em,
      transaction: (work) => orm.em.fork().transactional(work),
      nested: (em, work) => em.transactional(work),
      // As applications do: it is sent when MikroORM flushes.
      write: async (em, what) => void em.persist(em.create(EFFECT, { what })),
      fail: (em, code) => em.execute(failing(code)),
      readOnly: (em) => em.execute(READ_ONLY),
      close: () => orm.close(),
    };
  },
};
