import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateOrderTable implements MigrationInterface {
  readonly name = 'CreateOrderTable1763800000301';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "order" (
        id uuid PRIMARY KEY,
        customer_id text NOT NULL,
        amount int NOT NULL,
        status text NOT NULL,
        rejected_because text,
        placed_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE "order"');
  }
}
