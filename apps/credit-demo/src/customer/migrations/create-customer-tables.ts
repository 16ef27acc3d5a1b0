import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateCustomerTables implements MigrationInterface {
  readonly name = 'CreateCustomerTables1763800000101';

  async up(queryRunner: QueryRunner): Promise<void> {
    // The last line of defence: whatever the code believes, no limit is ever exceeded.
    await queryRunner.query(`
      CREATE TABLE customer (
        id text PRIMARY KEY,
        name text NOT NULL,
        credit_limit int NOT NULL CHECK (credit_limit >= 0),
        reserved int NOT NULL DEFAULT 0 CHECK (reserved BETWEEN 0 AND credit_limit)
      )`);
    await queryRunner.query(`
      CREATE TABLE credit (
        order_id uuid PRIMARY KEY,
        customer_id text,
        amount int NOT NULL,
        status text NOT NULL,
        reason text
      )`);
    await queryRunner.query('CREATE INDEX credit_customer ON credit (customer_id)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE credit');
    await queryRunner.query('DROP TABLE customer');
  }
}
