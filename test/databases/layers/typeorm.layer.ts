import { Global, Module } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { failing, INSERT, type LayerSubject, READ_ONLY } from './layer.js';

export const TYPEORM: LayerSubject<EntityManager> = {
  name: 'TypeORM',
  open: async (url, connections = 10) => {
    const dataSource = await new DataSource({ type: 'postgres', url, poolSize: connections }).initialize();
    class DataSourceModule {}
    Module({ providers: [{ provide: DataSource, useValue: dataSource }], exports: [DataSource] })(
      DataSourceModule,
    );
    Global()(DataSourceModule);
    return {
      imports: [DataSourceModule],
      source: dataSource.manager,
      transaction: (work) => dataSource.transaction(work),
      nested: (manager, work) => manager.transaction(work),
      write: (manager, what) => manager.query(INSERT, [what]),
      fail: (manager, code) => manager.query(failing(code)),
      readOnly: (manager) => manager.query(READ_ONLY),
      close: () => dataSource.destroy(),
    };
  },
};
