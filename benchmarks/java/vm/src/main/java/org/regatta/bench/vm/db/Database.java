package org.regatta.bench.vm.db;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Records in memory with three indices: by number, by city, and ordered by name. */
final class Database {
    private final Map<Integer, Account> byNumber = new HashMap<>();
    private final Map<String, Map<Integer, Account>> byCity = new TreeMap<>();
    private final NavigableMap<String, List<Account>> byName = new TreeMap<>();

    void add(Account account) {
        if (byNumber.put(account.number(), account) != null) {
            throw new IllegalArgumentException("account " + account.number() + " is there already");
        }
        enter(account);
        byName.computeIfAbsent(account.name(), name -> new ArrayList<>(1)).add(account);
    }

    void delete(int number) {
        Account account = get(number);
        byNumber.remove(number);
        leave(account);
        List<Account> namesakes = byName.get(account.name());
        namesakes.remove(account);
        if (namesakes.isEmpty()) {
            byName.remove(account.name());
        }
    }

    void move(int number, String city, String street) {
        Account account = get(number);
        leave(account);
        account.moveTo(city, street);
        enter(account);
    }

    Account get(int number) {
        Account account = byNumber.get(number);
        if (account == null) {
            throw new IllegalArgumentException("there is no account " + number);
        }
        return account;
    }

    int count() {
        return byNumber.size();
    }

    /** @return a new list, in the order of their arrival in the city */
    List<Account> inCity(String city) {
        return new ArrayList<>(byCity.getOrDefault(city, Map.of()).values());
    }

    /** @return a new list of those with {@code from <= name < to}, by name */
    List<Account> named(String from, String to) {
        List<Account> found = new ArrayList<>();
        byName.subMap(from, to).values().forEach(found::addAll);
        return found;
    }

    /** @return a new list of all, by name */
    List<Account> all() {
        List<Account> found = new ArrayList<>(byNumber.size());
        byName.values().forEach(found::addAll);
        return found;
    }

    /** @return count and sum of balances of each city, one line each */
    String report() {
        StringBuilder lines = new StringBuilder();
        byCity.forEach((city, accounts) -> lines.append(city)
                .append('\t')
                .append(accounts.size())
                .append('\t')
                .append(total(accounts.values()))
                .append('\n'));
        return lines.toString();
    }

    static long total(Collection<Account> accounts) {
        long cents = 0;
        for (Account account : accounts) {
            cents += account.balanceCents();
        }
        return cents;
    }

    /**
     * @param keys names of fields, the most important one first; {@code -} before a name reverses its order
     * @return an order in which no two records are equal: the number is the last key
     */
    static Comparator<Account> order(String... keys) {
        Comparator<Account> order = null;
        for (String key : keys) {
            boolean descending = key.startsWith("-");
            Comparator<Account> next = by(descending ? key.substring(1) : key);
            next = descending ? next.reversed() : next;
            order = order == null ? next : order.thenComparing(next);
        }
        Comparator<Account> last = Comparator.comparingInt(Account::number);
        return order == null ? last : order.thenComparing(last);
    }

    private static Comparator<Account> by(String field) {
        switch (field) {
            case "name":
                return Comparator.comparing(Account::name);
            case "phone":
                return Comparator.comparing(Account::phone);
            case "city":
                return Comparator.comparing(Account::city);
            case "street":
                return Comparator.comparing(Account::street);
            case "balance":
                // Boxed, like a field of a table: the comparison allocates.
                return Comparator.comparing(Account::balanceCents);
            default:
                throw new IllegalArgumentException("there is no field " + field);
        }
    }

    /** @return the error in the indices; null: none */
    String inconsistency() {
        int inCities = 0;
        for (Map.Entry<String, Map<Integer, Account>> city : byCity.entrySet()) {
            for (Account account : city.getValue().values()) {
                if (!account.city().equals(city.getKey()) || byNumber.get(account.number()) != account) {
                    return "account " + account.number() + " is in the wrong city " + city.getKey();
                }
                inCities++;
            }
        }
        int named = all().size();
        return inCities == count() && named == count()
                ? null
                : count() + " accounts, of which " + inCities + " have a city and " + named + " a name";
    }

    private void enter(Account account) {
        byCity.computeIfAbsent(account.city(), city -> new LinkedHashMap<>()).put(account.number(), account);
    }

    private void leave(Account account) {
        Map<Integer, Account> neighbours = byCity.get(account.city());
        neighbours.remove(account.number());
        if (neighbours.isEmpty()) {
            byCity.remove(account.city());
        }
    }
}
