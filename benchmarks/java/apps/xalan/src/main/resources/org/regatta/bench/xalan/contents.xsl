<?xml version="1.0" encoding="UTF-8"?>
<!-- The archive as a page: a table of contents, then the sections; recursion, modes, numbers on several levels. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html" encoding="UTF-8" indent="no"/>
  <xsl:key name="author" match="author" use="@id"/>
  <xsl:key name="article" match="article" use="@id"/>

  <xsl:template match="/archive">
    <html>
      <head><title>Archive <xsl:number value="@number" format="I"/></title></head>
      <body>
        <ul><xsl:apply-templates select="section" mode="contents"/></ul>
        <xsl:apply-templates select="section"/>
      </body>
    </html>
  </xsl:template>

  <xsl:template match="section" mode="contents">
    <li>
      <xsl:number level="multiple" format="1.1.a "/>
      <a href="#{generate-id()}"><xsl:value-of select="title"/></a>
      <xsl:text> (</xsl:text><xsl:value-of select="count(.//article)"/><xsl:text>)</xsl:text>
      <xsl:if test="section">
        <ul><xsl:apply-templates select="section" mode="contents"/></ul>
      </xsl:if>
    </li>
  </xsl:template>

  <xsl:template match="section">
    <div id="{generate-id()}" class="depth-{count(ancestor::section)}">
      <h2><xsl:number level="multiple" format="1.1.a "/><xsl:apply-templates select="title"/></h2>
      <xsl:apply-templates select="article">
        <xsl:sort select="@kind"/>
        <xsl:sort select="title" lang="en"/>
      </xsl:apply-templates>
      <xsl:apply-templates select="section"/>
    </div>
  </xsl:template>

  <xsl:template match="article">
    <h3 id="{@id}" title="{@kind}">
      <xsl:number level="any" format="i. "/>
      <xsl:value-of select="title"/>, <xsl:value-of select="key('author', @author)"/>
    </h3>
    <xsl:apply-templates select="para"/>
    <xsl:if test="cites">
      <p>See <xsl:for-each select="cites">
        <xsl:if test="position() > 1">; </xsl:if>
        <a href="#{@ref}"><xsl:value-of select="key('article', @ref)/title"/></a>
      </xsl:for-each>.</p>
    </xsl:if>
  </xsl:template>

  <xsl:template match="para"><p><xsl:apply-templates/></p></xsl:template>
  <xsl:template match="em"><i><xsl:apply-templates/></i></xsl:template>
</xsl:stylesheet>
