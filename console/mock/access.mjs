// The mock's people: users with roles, API tokens, saved views, and the audit trail that everything writes to.
import { randomUUID } from 'node:crypto';
import { now, Problem } from './problem.mjs';

export const ROLES = ['viewer', 'operator', 'admin'];
const USER = /^[a-z0-9][a-z0-9._@-]{0,62}$/;

export class Access {
  constructor(mock) {
    this.mock = mock;
    this.users = new Map();
    this.tokens = [];
    this.enrolTokens = [{ id: '1', label: 'first', created_at: '2026-11-02T09:12:00.000Z', expires_at: null, revoked_at: null, last_used_at: '2026-11-29T17:40:00.000Z', agents: 11 }];
    this.views = [];
    this.trail = [];
    for (const name of ['admin', 'operator', 'viewer']) this.users.set(name, { name, role: name, created_at: '2026-11-02T09:12:00.000Z', disabled: false, password: name, version: 1 });
  }

  audit(actor, action, object, before = null, after = null, at = now()) {
    this.trail.unshift({ id: String(this.trail.length + 1), at, actor: { kind: actor === 'system' ? 'system' : 'user', name: actor }, address: actor === 'system' ? '' : '10.1.0.7', action, object, before, after });
  }

  found(query) {
    const [actor, action, object, since, until] = ['actor', 'action', 'object', 'since', 'until'].map((key) => query.get(key));
    return this.trail.filter((one) => (!actor || one.actor.name === actor) && (!action || one.action === action || one.action.startsWith(`${action}.`)) &&
      (!object || one.object === object || one.object.startsWith(`${object}/`)) && (!since || one.at >= since) && (!until || one.at < until));
  }

  user(name) {
    const found = this.users.get(name);
    if (!found) throw new Problem(404, 'not found', `there is no user "${name}"`);
    return found;
  }

  addUser({ name, role, password }) {
    if (!USER.test(name ?? '')) throw new Problem(400, 'bad name', 'a user name is 1 to 63 of a-z, 0-9, ".", "_", "@" and "-"', 'name');
    if (!ROLES.includes(role)) throw new Problem(400, 'bad role', 'a role is viewer, operator or admin', 'role');
    if (this.users.has(name)) throw new Problem(409, 'exists already', `there is a user "${name}" already`, 'name');
    const made = password ?? randomUUID();
    longEnough(made);
    this.users.set(name, { name, role, created_at: now(), disabled: false, password: made, version: 1 });
    return { ...shown(this.user(name)), ...(password === undefined ? { password: made } : {}) };
  }

  changeUser(name, { role, disabled, password }) {
    const user = this.user(name);
    this.#keepAnAdmin(name, role ?? user.role, disabled ?? user.disabled);
    const made = password === true ? randomUUID() : password;
    if (made !== undefined) longEnough(made);
    Object.assign(user, { role: role ?? user.role, disabled: disabled ?? user.disabled, password: made ?? user.password, version: user.version + 1 });
    return { ...shown(user), ...(password === true ? { password: made } : {}) };
  }

  removeUser(name) {
    this.user(name);
    this.#keepAnAdmin(name, null, true);
    this.users.delete(name);
  }

  changePassword(name, { current, new: fresh }) {
    if (this.user(name).password !== current) throw new Problem(403, 'refused', 'the current password is wrong', 'current');
    longEnough(fresh, 'new');
    this.user(name).password = fresh;
  }

  #keepAnAdmin(name, role, disabled) {
    const left = [...this.users.values()].some((one) => one.name !== name && one.role === 'admin' && !one.disabled);
    if (!left && (role !== 'admin' || disabled)) throw new Problem(409, 'the last admin', 'there must be one enabled admin');
  }

  addToken({ label, role, expires_in: span }, maker) {
    if (!label) throw new Problem(400, 'bad label', 'a label is needed', 'label');
    if (ROLES.indexOf(role) > ROLES.indexOf(maker.role)) throw new Problem(403, 'refused', 'a token never has more than its maker');
    const days = /^(\d+)d$/.exec(span ?? '')?.[1];
    const made = {
      id: String(this.tokens.length + 1), label, role, created_by: maker.name, created_at: now(),
      expires_at: days ? new Date(Date.now() + days * 86_400_000).toISOString() : null, revoked_at: null, last_used_at: null,
    };
    this.tokens.unshift(made);
    return { ...made, token: `muster_api_${randomUUID().replaceAll('-', '')}` };
  }

  addEnrolToken({ label, expires_in_seconds: seconds }) {
    const at = Date.now();
    const made = {
      id: String(this.enrolTokens.length + 1), label, created_at: new Date(at).toISOString(), expires_at: seconds ? new Date(at + seconds * 1000).toISOString() : null,
      revoked_at: null, last_used_at: null, agents: 0,
    };
    this.enrolTokens.unshift(made);
    return { ...made, token: `mock_${randomUUID().replaceAll('-', '')}` };
  }
}

export const shown = ({ password: _, version: __, ...rest }) => rest;

function longEnough(password, field = 'password') {
  if (typeof password !== 'string' || password.length < 12) throw new Problem(400, 'bad password', 'a password has at least 12 characters', field);
}
