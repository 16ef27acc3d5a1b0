import knex, { type Knex } from 'knex';
import { knexDatabase } from '../../../libs/saga/src/databases/knex/index.js';
import { failing, type LayerSubject, READ_ONLY } from './layer.js';

export const KNEX: LayerSubject<Knex.Transaction> = {
  name: 'Knex',
  open: async (url, connections = 10) => {
    const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: connections } });
    return {
      database: knexDatabase(db),
      source: db,
      transaction: (work) => db.transaction(work),
      nested: (trx, work) => trx.transaction(work),
      write: (trx, what) => trx('effect').insert({ what }),
      fail: (trx, code) => trx.raw(failing(code)),
      readOnly: (trx) => trx.raw(READ_ONLY),
      close: () => db.destroy(),
    };
  },
};
