package org.regatta.bench.vm.db;

/** A record. Fields that operations change are not final; the number is the permanent key. */
final class Account {
    private final int number;
    private final String name;
    private final String phone;
    private String city;
    private String street;
    private long balanceCents;

    Account(int number, String name, String phone, String city, String street, long balanceCents) {
        this.number = number;
        this.name = name;
        this.phone = phone;
        this.city = city;
        this.street = street;
        this.balanceCents = balanceCents;
    }

    int number() {
        return number;
    }

    String name() {
        return name;
    }

    String phone() {
        return phone;
    }

    String city() {
        return city;
    }

    String street() {
        return street;
    }

    long balanceCents() {
        return balanceCents;
    }

    void moveTo(String newCity, String newStreet) {
        city = newCity;
        street = newStreet;
    }

    void book(long cents) {
        balanceCents += cents;
    }
}
