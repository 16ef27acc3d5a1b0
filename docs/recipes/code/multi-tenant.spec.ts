import { SagaModule } from 'nestjs-durable-saga';
import { aborted, Gate, until } from '../../../test/support/gate.js';
import { Catalogues, ImportModule, openTenant, TenantImports } from './multi-tenant.js';
import { RecipeApps } from './recipe-apps.js';

describe('tenants in one schema', () => {
  const apps = RecipeApps.onOwnDatabase();
  const open = async () => {
    const { nest, sagas } = await apps.start({ module: { imports: [ImportModule] } });
    return { nest, sagas, imports: nest.get(TenantImports) };
  };

  test('have one import at a time each, in order, and do not wait for each other', async () => {
    const { nest, sagas, imports } = await open();
    const gate = new Gate();
    const loaded: string[] = [];
    nest.get(Catalogues).load = async (tenant, file) => {
      loaded.push(`${tenant}/${file}`);
      if (tenant === 'acme') await gate.opened;
      return { rows: 1 };
    };
    const first = await imports.start('acme', '1');
    await until(() => loaded.length === 1);
    const second = await imports.start('acme', '2');
    const other = await imports.start('globex', '1');
    await other.outcome({ timeout: '10s' });
    expect(loaded).toEqual(['acme/1', 'globex/1']);
    const { waitingFor } = await sagas.get(second.id);
    expect(waitingFor).toEqual({ kind: 'lock', key: 'acme', holder: first.id });
    gate.open();
    await second.outcome({ timeout: '10s' });
    expect(loaded).toEqual(['acme/1', 'globex/1', 'acme/2']);
  });

  test('see their own, and may use the same names', async () => {
    const { imports } = await open();
    const [ours, theirs] = [await imports.start('umbrella', 'a'), await imports.start('initech', 'a')];
    expect(ours.id).not.toBe(theirs.id);
    const { items } = await imports.list('umbrella');
    expect(items.map(({ id }) => id)).toEqual([ours.id]);
  });

  test('can be stopped as a whole', async () => {
    const { nest, imports } = await open();
    nest.get(Catalogues).load = async (tenant, _file, signal) => {
      if (tenant === 'hooli') throw await aborted(signal);
      return { rows: 1 };
    };
    const handles = await Promise.all(['1', '2', '3'].map((file) => imports.start('hooli', file)));
    expect(await imports.stopAll('hooli', 'ann')).toBe(3);
    for (const handle of handles)
      expect((await handle.outcome({ timeout: '10s' })).failure?.kind).toBe('cancelled');
  });
});

describe('tenants in schemas of their own', () => {
  const apps = RecipeApps.onOwnDatabase();

  test('run side by side in one process, and know nothing of each other', async () => {
    const tenants = await Promise.all(['acme', 'globex'].map((tenant) => openTenant(tenant, apps.url)));
    const [acme, globex] = tenants.map((app) => app.get(TenantImports));
    const ours = await acme!.start('acme', '1');
    expect((await ours.outcome({ timeout: '10s' })).status).toBe('completed');
    expect((await acme!.list('acme')).items).toHaveLength(1);
    expect((await globex!.list('acme')).items).toEqual([]);
    const rows = await apps.sql(
      'SELECT id FROM saga_acme.instance UNION ALL SELECT id FROM saga_globex.instance',
    );
    expect(rows).toEqual([{ id: ours.id }]);
    await Promise.all(tenants.map((app) => app.close()));
  });

  test('cannot share an application: it has one SagaModule', async () => {
    const twice = apps.start({
      module: { imports: [ImportModule, SagaModule.forRoot({ schema: 'saga_other' })] },
    });
    await expect(twice).rejects.toMatchObject({ code: 'SAGA_CONFIGURATION' });
  });
});
