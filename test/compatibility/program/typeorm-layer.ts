import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import type { Layer } from './layer.js';
import { tryLayers } from './try-layers.js';

function typeOrmLayer(url: string): Layer<EntityManager> {
  const dataSource = new DataSource({ type: 'postgres', url });
  return {
    imports: [
      TypeOrmModule.forRootAsync({
        useFactory: () => ({}),
        dataSourceFactory: () => dataSource.initialize(),
      }),
    ],
    transaction: (work) => dataSource.transaction(work),
    book: (manager, what) => manager.query('INSERT INTO booking VALUES ($1)', [what]),
    // The application has destroyed the DataSource.
    close: () => Promise.resolve(),
  };
}

void tryLayers({ typeorm: typeOrmLayer });
