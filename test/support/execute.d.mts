import type { QueryResult } from 'pg';

export function execute(url: string, statements: string): Promise<QueryResult>;
