/**
 * The Lua scripts of the journal in Redis: each is one atomic step. The last key of each script is the index, and the names
 * of the records begin with the same prefix.
 *
 * The index is one sorted set. All its members have the same score, so they are in order of their bytes:
 * - `s`, state, `createdAt`, key: to list by state.
 * - `r`, reference in lower case, `createdAt`, key: to list by reference.
 * - `d`, kind, time by the clock of Redis, key: when the record is due.
 * - `journal`: that there is a journal. It stays when all records are deleted.
 *
 * A tab separates the parts, and times have 16 digits. The hash of each record has the same parts as fields, so that the next
 * write removes the right members.
 */

import { MAX_DUE_IN } from './store.ts';

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local zset = KEYS[#KEYS]
local prefix = string.sub(zset, 1, -7)
local function digits(milliseconds) return string.format('%016.0f', milliseconds) end
-- A value without all that a record has is not the journal's own: it is returned as a record that cannot be read.
local function load(name)
  local type = redis.call('TYPE', name).ok
  if type == 'none' then return nil end
  if type ~= 'hash' then return {'', '', ''} end
  local found = redis.call('HMGET', name, 'version', 'record', 'written_at')
  local written_at = tonumber(found[3] or '')
  if not (found[1] and found[2] and written_at) then return {'', '', ''} end
  return {found[1], found[2], tostring(now - written_at)}
end`;

/** Returns version, text, and the age in milliseconds by the clock of Redis; nothing if there is no journal. */
export const READ = `${NOW}
local record = load(KEYS[1])
if record then return record end
return redis.call('EXISTS', zset) == 1 and {} or false`;

/** How a record becomes members of the index. */
const INDEX = String.raw`${NOW}
local function unlink(name)
  local key = string.sub(name, #prefix + 1)
  local found = redis.call('HMGET', name, 'state', 'created_at', 'reference', 'kind', 'due_at')
  local state, created, reference, kind, due = unpack(found)
  if not state then return end
  redis.call('ZREM', zset, 's\t' .. state .. '\t' .. created .. '\t' .. key,
    'r\t' .. reference .. '\t' .. created .. '\t' .. key, 'd\t' .. kind .. '\t' .. due .. '\t' .. key)
end
local function link(name, state, created, reference, kind, due)
  local key = string.sub(name, #prefix + 1)
  redis.call('ZADD', zset, 0, 's\t' .. state .. '\t' .. created .. '\t' .. key)
  if reference ~= '' then redis.call('ZADD', zset, 0, 'r\t' .. reference .. '\t' .. created .. '\t' .. key) end
  if due ~= '' then redis.call('ZADD', zset, 0, 'd\t' .. kind .. '\t' .. due .. '\t' .. key) end
  redis.call('HSET', name, 'state', state, 'created_at', created, 'reference', reference, 'kind', kind, 'due_at', due)
end
`;

/**
 * A key is new only if there is nothing at all: a record that has lost its version is not new. The index is written first: if
 * it cannot be, because its name is that of another value, nothing is.
 */
export const WRITE = `${INDEX}
local name, expected, version, record = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local state, created, reference, kind, due_in = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local type = redis.call('TYPE', name).ok
if expected == '' then
  if type ~= 'none' then return 0 end
elseif type ~= 'hash' or redis.call('HGET', name, 'version') ~= expected then return 0 end
redis.call('ZADD', zset, 0, 'journal')
unlink(name)
if state ~= '' then
  link(name, state, created, reference, kind, due_in ~= '' and digits(now + tonumber(due_in)) or '')
else
  redis.call('HDEL', name, 'state', 'created_at', 'reference', 'kind', 'due_at')
end
redis.call('HSET', name, 'version', version, 'record', record, 'written_at', string.format('%.0f', now))
redis.call('PERSIST', name)
return 1`;

/** Returns records between two members of the index. A member whose record is gone, because it was deleted by hand, is removed. */
export const LIST = String.raw`${NOW}
if redis.call('EXISTS', zset) == 0 then return false end
local from, to, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local listed = {}
repeat
  local found = redis.call('ZRANGEBYLEX', zset, from, to, 'LIMIT', 0, limit - #listed)
  for _, member in ipairs(found) do
    from = '(' .. member
    local created, key = string.match(member, '\t(%d+)\t([^\t]*)$')
    local record = load(prefix .. key)
    if record then
      table.insert(listed, {key, record[1], record[2], record[3], created})
    else
      redis.call('ZREM', zset, member)
    end
  end
until #found == 0 or #listed == limit
return listed`;

/** Returns each state, and how many records are in it. A colon comes after all digits. */
export const COUNT = String.raw`${NOW}
if redis.call('EXISTS', zset) == 0 then return false end
local counts, from = {}, '[s\t'
while true do
  local member = redis.call('ZRANGEBYLEX', zset, from, '(s\n', 'LIMIT', 0, 1)[1]
  if not member then return counts end
  local state = string.match(member, '^s\t([^\t]*)\t')
  from = '(s\t' .. state .. '\t:'
  table.insert(counts, {state, tostring(redis.call('ZLEXCOUNT', zset, '[s\t' .. state .. '\t', from))})
end`;

/** The bounds of what is due by the clock of Redis, and of what is due so late that the clock must have gone back. */
const DUE = String.raw`${NOW}
local start = 'd\t' .. ARGV[1] .. '\t'
local due_from, due_to = '[' .. start, '(' .. start .. digits(now + 1)
local late_from, late_to = '[' .. start .. digits(now + ${MAX_DUE_IN} + 1), '(' .. start .. ':'
`;

/** Returns records that are due, and makes each due again later, also one that cannot be read. */
export const CLAIM_DUE = String.raw`${DUE}
local limit, due = tonumber(ARGV[2]), digits(now + tonumber(ARGV[3]))
local claimed = {}
local function claim(from, to)
  while #claimed < limit do
    local found = redis.call('ZRANGEBYLEX', zset, from, to, 'LIMIT', 0, limit - #claimed)
    if #found == 0 then return end
    for _, member in ipairs(found) do
      from = '(' .. member
      local key = string.match(member, '([^\t]*)$')
      local name = prefix .. key
      local record = load(name)
      redis.call('ZREM', zset, member)
      if record then
        local created = '0'
        redis.call('ZADD', zset, 0, start .. due .. '\t' .. key)
        if redis.call('TYPE', name).ok == 'hash' then
          redis.call('HSET', name, 'due_at', due)
          created = redis.call('HGET', name, 'created_at') or '0'
        end
        table.insert(claimed, {key, record[1], record[2], record[3], created})
      end
    end
  end
end
claim(due_from, due_to)
claim(late_from, late_to)
return claimed`;

/** Returns how many records are due, and in how many milliseconds the next one is: empty if there is none. */
export const COUNT_DUE = String.raw`${DUE}
local due = redis.call('ZLEXCOUNT', zset, due_from, due_to) + redis.call('ZLEXCOUNT', zset, late_from, late_to)
local later = redis.call('ZRANGEBYLEX', zset, '[' .. string.sub(due_to, 2), '(' .. string.sub(late_from, 2), 'LIMIT', 0, 1)[1]
local at = later and tonumber(string.match(later, '^d\t[^\t]*\t(%d+)'))
return {tostring(due), at and tostring(at - now) or ''}`;

/** Deletes each record that still has its version, and returns how many those were. */
export const DELETE = `${INDEX}
local deleted = 0
for index, version in ipairs(ARGV) do
  local name = KEYS[index]
  if redis.call('TYPE', name).ok == 'hash' and redis.call('HGET', name, 'version') == version then
    unlink(name)
    redis.call('DEL', name)
    deleted = deleted + 1
  end
end
return deleted`;
